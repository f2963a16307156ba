/* Threads whose work is all inside of one lock: one thread is as quick as any number of them.
 *
 *     gcc -O2 -pthread -o lock-bound examples/lock-bound.c
 *     corun threads ./lock-bound {workers} */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1024, ROUNDS = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long left;
static uint64_t value = 1;

static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        int is_done = left-- <= 0;
        for (int round = 0; !is_done && round < ROUNDS; round++)
            value = value * 6364136223846793005u + 1442695040888963407u;
        pthread_mutex_unlock(&lock);
        if (is_done)
            return unused;
    }
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    left = count > 2 ? atol(arguments[2]) : 5000;
    if (threads < 1 || threads > MOST) {
        fprintf(stderr, "expected 1 to %d threads, found %d\n", MOST, threads);
        return 2;
    }
    pthread_t known[MOST];
    for (int index = 0; index < threads; index++)
        if (pthread_create(&known[index], NULL, work, NULL) != 0) {
            fprintf(stderr, "no thread %d\n", index);
            return 1;
        }
    for (int index = 0; index < threads; index++)
        pthread_join(known[index], NULL);
    printf("%lu\n", (unsigned long)value);
}
