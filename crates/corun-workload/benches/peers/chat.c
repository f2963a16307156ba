// A chat room as a C programmer writes it: two threads at each end of each connection, the server's
// ends in a forked process. The messages are those of corun's workload `chat`, and are not looked at.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, QUEUE_BYTES = 64 << 10, MEMBERS = 20, MESSAGE = 100 };

struct room;

struct member {
    struct room *room;
    int number;
    int near, far;
    pthread_t threads[2];
    // The server's queue.
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    char *waiting;
    size_t length;
};

struct room {
    struct member members[MEMBERS];
    pid_t server;
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    uint64_t run, messages, delivered;
    int busy, closing;
};

static int get(int fd, char *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = recv(fd, bytes + done, length - done, 0);
        if (n <= 0) return 0;
        done += n;
    }
    return 1;
}

static int put(int fd, const char *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = send(fd, bytes + done, length - done, MSG_NOSIGNAL);
        if (n <= 0) return 0;
        done += n;
    }
    return 1;
}

static pthread_t start(void *(*work)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, work, argument)) abort();
    pthread_attr_destroy(&attributes);
    return thread;
}

static void *server_receive(void *argument) {
    struct member *from = argument;
    char message[MESSAGE];
    while (get(from->far, message, MESSAGE)) {
        for (int i = 0; i < MEMBERS; i++) {
            struct member *to = &from->room->members[i];
            if (to == from) continue;
            pthread_mutex_lock(&to->lock);
            while (to->length + MESSAGE > QUEUE_BYTES) pthread_cond_wait(&to->emptied, &to->lock);
            int was_empty = to->length == 0;
            memcpy(to->waiting + to->length, message, MESSAGE);
            to->length += MESSAGE;
            pthread_mutex_unlock(&to->lock);
            if (was_empty) pthread_cond_signal(&to->filled);
        }
    }
    _exit(0);
}

static void *server_send(void *argument) {
    struct member *to = argument;
    char *taken = malloc(QUEUE_BYTES);
    for (;;) {
        pthread_mutex_lock(&to->lock);
        while (to->length == 0) pthread_cond_wait(&to->filled, &to->lock);
        char *messages = to->waiting;
        size_t length = to->length;
        to->waiting = taken;
        to->length = 0;
        taken = messages;
        pthread_mutex_unlock(&to->lock);
        pthread_cond_broadcast(&to->emptied);
        for (size_t at = 0; at < length; at += MESSAGE)
            if (!put(to->far, taken + at, MESSAGE)) _exit(0);
    }
}

static uint64_t share(int member, uint64_t messages) {
    return messages / MEMBERS + (member == 0 ? messages % MEMBERS : 0);
}

// Waits for the run; 0 if the room closes.
static int begin(struct room *room, uint64_t run, uint64_t *messages) {
    pthread_mutex_lock(&room->lock);
    while (room->run < run && !room->closing) pthread_cond_wait(&room->begun, &room->lock);
    int open = !room->closing;
    *messages = room->messages;
    pthread_mutex_unlock(&room->lock);
    return open;
}

static void end(struct room *room, uint64_t delivered) {
    pthread_mutex_lock(&room->lock);
    room->delivered += delivered;
    if (--room->busy == 0) pthread_cond_signal(&room->ended);
    pthread_mutex_unlock(&room->lock);
}

static void *member_send(void *argument) {
    struct member *member = argument;
    char message[MESSAGE];
    uint64_t messages;
    for (uint64_t run = 1; begin(member->room, run, &messages); run++) {
        uint64_t count = share(member->number, messages), sender = member->number;
        for (uint64_t sequence = 0; sequence < count; sequence++) {
            memcpy(message, &sender, 8);
            memcpy(message + 8, &sequence, 8);
            memset(message + 16, member->number, MESSAGE - 16);
            if (!put(member->near, message, MESSAGE)) abort();
        }
        end(member->room, 0);
    }
    return NULL;
}

static void *member_receive(void *argument) {
    struct member *member = argument;
    char message[MESSAGE];
    uint64_t messages;
    for (uint64_t run = 1; begin(member->room, run, &messages); run++) {
        uint64_t count = messages - share(member->number, messages);
        for (uint64_t received = 0; received < count; received++)
            if (!get(member->near, message, MESSAGE)) abort();
        end(member->room, count);
    }
    return NULL;
}

static void connect_all(struct room *room) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1)) abort();
    getsockname(listener, (struct sockaddr *)&address, &length);
    for (int i = 0; i < MEMBERS; i++) {
        struct member *member = &room->members[i];
        member->near = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(member->near, (struct sockaddr *)&address, length)) abort();
        member->far = accept(listener, NULL, NULL);
        setsockopt(member->near, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(member->far, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    close(listener);
}

struct room *chat_open(void) {
    struct room *room = calloc(1, sizeof *room);
    pthread_mutex_init(&room->lock, NULL);
    pthread_cond_init(&room->begun, NULL);
    pthread_cond_init(&room->ended, NULL);
    connect_all(room);
    for (int i = 0; i < MEMBERS; i++) {
        struct member *member = &room->members[i];
        member->room = room;
        member->number = i;
        pthread_mutex_init(&member->lock, NULL);
        pthread_cond_init(&member->filled, NULL);
        pthread_cond_init(&member->emptied, NULL);
        member->waiting = malloc(QUEUE_BYTES);
    }
    room->server = fork();
    if (room->server == 0) {
        for (int i = 0; i < MEMBERS; i++) {
            start(server_receive, &room->members[i]);
            start(server_send, &room->members[i]);
        }
        for (;;) pause();
    }
    for (int i = 0; i < MEMBERS; i++) {
        struct member *member = &room->members[i];
        close(member->far);
        member->threads[0] = start(member_send, member);
        member->threads[1] = start(member_receive, member);
    }
    return room;
}

// Sends so many messages and returns how many were delivered.
uint64_t chat_run(struct room *room, uint64_t messages) {
    pthread_mutex_lock(&room->lock);
    room->messages = messages;
    room->delivered = 0;
    room->busy = 2 * MEMBERS;
    room->run++;
    pthread_cond_broadcast(&room->begun);
    while (room->busy > 0) pthread_cond_wait(&room->ended, &room->lock);
    uint64_t delivered = room->delivered;
    pthread_mutex_unlock(&room->lock);
    return delivered;
}

void chat_close(struct room *room) {
    pthread_mutex_lock(&room->lock);
    room->closing = 1;
    pthread_cond_broadcast(&room->begun);
    pthread_mutex_unlock(&room->lock);
    for (int i = 0; i < MEMBERS; i++)
        for (int end = 0; end < 2; end++) pthread_join(room->members[i].threads[end], NULL);
    kill(room->server, SIGKILL);
    waitpid(room->server, NULL, 0);
    for (int i = 0; i < MEMBERS; i++) {
        close(room->members[i].near);
        free(room->members[i].waiting);
    }
    free(room);
}
