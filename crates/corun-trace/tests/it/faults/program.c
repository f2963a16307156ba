/* Programs whose faults are not their end: each prints what it must print however it is run, and returns 7.
   usage: program CASE FILE */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

typedef void action(int, siginfo_t *, void *);
static void on(int signal, action *handler, int flags) {
    struct sigaction a = {0};
    a.sa_sigaction = handler;
    a.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &a, 0);
}
static char *page(int protection) { return mmap(0, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* --- all registers at a fault --- */
static volatile uint64_t wrong;
char *hidden;
/* Registers are k*0x1111..., flags as set; the fault is a store through rbx */
static greg_t expected[23];
static int skip_bytes;
static void check_registers(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int k = 0; k < 14; k++)
        if (u->uc_mcontext.gregs[order[k]] != (greg_t)(0x0101010101010101ull * (k + 1))) wrong |= 1ull << k;
    if ((u->uc_mcontext.gregs[REG_EFL] & 0x8d5) != expected[0]) wrong |= 1ull << 40;
    u->uc_mcontext.gregs[REG_RIP] += skip_bytes;
    for (int k = 0; k < 14; k++) u->uc_mcontext.gregs[order[k]] ^= 0xff;
}
#define SET(r, k) "movabs $" #k "*0x0101010101010101, %%" #r "\n"
uint64_t seen[14], flags_after, compared;
static void registers(int carry) {
    /* flags: cmp of equal or different numbers */
    compared = carry ? 6 : 5;
    __asm__ volatile(
        "push %%rbp\n"
        "mov hidden(%%rip), %%rbx\n"
        "mov $5, %%eax\n"
        "cmp compared(%%rip), %%rax\n"
        SET(rax, 1) SET(rcx, 2) SET(rdx, 3) SET(rsi, 4) SET(rdi, 5) SET(rbp, 6)
        SET(r8, 7) SET(r9, 8) SET(r10, 9) SET(r11, 10) SET(r12, 11) SET(r13, 12) SET(r14, 13) SET(r15, 14)
        "mov %%rax, (%%rbx)\n" /* 3 bytes */
        "mov %%rax, seen(%%rip)\nmov %%rcx, seen+8(%%rip)\nmov %%rdx, seen+16(%%rip)\nmov %%rsi, seen+24(%%rip)\n"
        "mov %%rdi, seen+32(%%rip)\nmov %%rbp, seen+40(%%rip)\nmov %%r8, seen+48(%%rip)\nmov %%r9, seen+56(%%rip)\n"
        "mov %%r10, seen+64(%%rip)\nmov %%r11, seen+72(%%rip)\nmov %%r12, seen+80(%%rip)\nmov %%r13, seen+88(%%rip)\n"
        "mov %%r14, seen+96(%%rip)\nmov %%r15, seen+104(%%rip)\n"
        "pushf\npop flags_after(%%rip)\n"
        "pop %%rbp\n"
        : :
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
}
static void test_registers(void) {
    on(SIGSEGV, check_registers, 0);
    skip_bytes = 3;
    for (int k = 0; k < 40; k++) {
        int carry = k & 1;
        expected[0] = carry ? 0x95 : 0x44; /* 5-6: CF PF AF SF; 5-5: ZF PF */
        registers(carry);
        for (int r = 0; r < 14; r++)
            if (seen[r] != ((0x0101010101010101ull * (r + 1)) ^ 0xff)) wrong |= 1ull << (r + 16);
        if ((flags_after & 0x8d5) != (uint64_t)expected[0]) wrong |= 1ull << 41;
    }
    printf("registers %lx\n", (long)wrong);
}
/* --- guard page, retried --- */
static char *guarded; static volatile int count;
static void open_page(int s, siginfo_t *i, void *c) { count++; mprotect(guarded, 4096, PROT_READ | PROT_WRITE); }
static void test_guard(void) {
    on(SIGSEGV, open_page, 0);
    long sum = 0;
    for (int k = 0; k < 50; k++) { mprotect(guarded, 4096, PROT_NONE); for (int j = 0; j < 20; j++) { guarded[j] += k ^ j; sum += guarded[j]; } }
    printf("guard %d %ld\n", count, sum);
}
/* --- pointer changed, same instruction retried --- */
static long good = 42;
static void change_pointer(int s, siginfo_t *i, void *c) { ((ucontext_t *)c)->uc_mcontext.gregs[REG_RDI] = (greg_t)&good; }
static void test_pointer(void) {
    on(SIGSEGV, change_pointer, 0);
    long sum = 0;
    for (int k = 0; k < 30; k++) { long v; void *p = 0; __asm__ volatile("add $1,%0\nmov (%%rdi), %0\nadd $3, %0" : "=&r"(v), "+D"(p)::"cc","memory"); sum += v; }
    printf("pointer %ld\n", sum);
}
/* --- jump out --- */
static sigjmp_buf out;
static void jump(int s, siginfo_t *i, void *c) { siglongjmp(out, s); }
static void test_jump(void) {
    on(SIGSEGV, jump, 0); on(SIGFPE, jump, 0); on(SIGILL, jump, 0); on(SIGTRAP, jump, 0); on(SIGBUS, jump, 0);
    volatile int got[5] = {0}; volatile int zero = 0;
    int file = memfd_create("x", 0); char *beyond = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (volatile int k = 0; k < 50; k++) {
        int signal = sigsetjmp(out, 1);
        if (signal == 0) {
            switch (k % 5) {
            case 0: *(volatile int *)8 = 1; break;
            case 1: zero = 5 / zero; break;
            case 2: __asm__ volatile("ud2"); break;
            case 3: __asm__ volatile("int3"); break;
            case 4: *(volatile char *)beyond = 1; break;
            }
        } else got[k % 5] += signal;
    }
    printf("jump %d %d %d %d %d\n", got[0], got[1], got[2], got[3], got[4]);
}
/* --- skipped instructions --- */
static volatile int skipped[65];
static void skip(int s, siginfo_t *i, void *c) {
    skipped[s]++;
    greg_t *ip = &((ucontext_t *)c)->uc_mcontext.gregs[REG_RIP];
    if (s == SIGTRAP) return;
    *ip += 2;
}
static void test_skip(void) {
    on(SIGSEGV, skip, 0); on(SIGFPE, skip, 0); on(SIGILL, skip, 0); on(SIGTRAP, skip, 0);
    long sum = 0;
    for (int k = 0; k < 20; k++) {
        long a = k, b = 7;
        __asm__ volatile("stc\nud2\nadc $0, %0\nint3\nadd %1, %0\nxor %%ecx,%%ecx\nmov $9, %%eax\nxor %%edx,%%edx\ndiv %%ecx\nadd %%rax, %0\nxor %%eax,%%eax\nmov (%%rax),%%eax\nadd $1,%0" : "+r"(a) : "r"(b) : "rax", "rcx", "rdx", "cc", "memory");
        sum += a;
    }
    printf("skip %d %d %d %d %ld\n", skipped[SIGSEGV], skipped[SIGFPE], skipped[SIGILL], skipped[SIGTRAP], sum);
}
/* --- asynchronous --- */
static volatile sig_atomic_t ticks;
static void tick(int s, siginfo_t *i, void *c) { ticks++; }
static void test_timer(void) {
    on(SIGALRM, tick, SA_RESTART);
    struct itimerval t = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &t, 0);
    uint64_t x = 1;
    for (int k = 0; k < 300000 || ticks < 3; k++) if (k < 300000) x = x * 6364136223846793005ull + 1442695040888963407ull + (x >> 33);
    memset(&t, 0, sizeof t); setitimer(ITIMER_REAL, &t, 0);
    printf("timer %d %lx\n", ticks >= 3, (long)x);
}
static volatile sig_atomic_t self;
static void mine(int s, siginfo_t *i, void *c) { self++; }
static void test_raise(void) {
    int all[] = {SIGUSR1, SIGUSR2, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGURG, 40};
    for (int k = 0; k < 9; k++) on(all[k], mine, k & 1 ? SA_NODEFER : 0);
    for (int k = 0; k < 45; k++) k & 1 ? raise(all[k % 9]) : kill(getpid(), all[k % 9]);
    printf("raise %d\n", self);
}
/* --- string instructions --- */
static char *area;
static void open_next(int s, siginfo_t *i, void *c) { count++; mprotect((char *)((uintptr_t)i->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE); }
static void test_strings(void) {
    on(SIGSEGV, open_next, 0);
    count = 0;
    uint64_t sum = 0;
    for (int k = 0; k < 10; k++) {
        area = mmap(0, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(area, 4096, PROT_READ | PROT_WRITE);
        for (int j = 0; j < 4096; j++) area[j] = j * 7 + k;
        void *d = area + 4000, *f = area; long n = 9000;
        __asm__ volatile("cld\nrep movsb" : "+D"(d), "+S"(f), "+c"(n)::"memory");
        sum += (char *)d - area; sum += n;
        mprotect(area + 4096, 8192, PROT_NONE);
        d = area + 3 * 4096 - 1; n = 2 * 4096;
        __asm__ volatile("std\nrep stosb\ncld" : "+D"(d), "+c"(n) : "a"(k) : "memory");
        sum += (char *)d - area;
        mprotect(area + 4096, 4096, PROT_NONE);
        d = area; n = 8192;
        unsigned char zero;
        __asm__ volatile("repne scasb\nsete %2" : "+D"(d), "+c"(n), "=r"(zero) : "a"(200) : "memory", "cc");
        sum += (char *)d - area + n + zero;
        for (int j = 0; j < 4 * 4096 - 4096; j++) sum = sum * 31 + area[j];
        munmap(area, 4 * 4096);
    }
    printf("strings %d %lx\n", count, (long)sum);
}
/* --- nested, and on another stack --- */
static char *second; static volatile int depth, deepest;
static void nested(int s, siginfo_t *i, void *c) {
    depth++; if (depth > deepest) deepest = depth;
    char *at = (char *)((uintptr_t)i->si_addr & ~4095ul);
    if (at == guarded) { second[3] = 7; count += second[3]; }
    mprotect(at, 4096, PROT_READ | PROT_WRITE);
    depth--;
}
static void test_nested(void) {
    second = page(PROT_NONE); count = 0;
    on(SIGSEGV, nested, SA_NODEFER | SA_ONSTACK);
    for (int k = 0; k < 20; k++) { mprotect(guarded, 4096, PROT_NONE); mprotect(second, 4096, PROT_NONE); guarded[k]++; count += guarded[k]; }
    printf("nested %d %d\n", count, deepest);
}
static int overflow(volatile char *above) { volatile char here[512]; here[0] = above[0] + 1; return overflow(here) + here[0]; }
static void test_overflow(void) {
    on(SIGSEGV, jump, SA_ONSTACK);
    int times = 0; volatile char c = 0;
    for (volatile int k = 0; k < 2; k++) if (sigsetjmp(out, 1) == 0) overflow(&c); else times++;
    printf("overflow %d\n", times);
}
/* --- threads --- */
static __thread char *own; static __thread int times;
static void open_own(int s, siginfo_t *i, void *c) { times++; mprotect(own, 4096, PROT_READ | PROT_WRITE); }
static void *work(void *n) {
    own = page(PROT_NONE); long sum = 0;
    for (int k = 0; k < 60; k++) { mprotect(own, 4096, PROT_NONE); for (int j = 0; j < 10; j++) { own[j] += (long)n + k; sum += own[j]; } }
    return (void *)(sum * 100 + times);
}
static void test_threads(void) {
    on(SIGSEGV, open_own, 0);
    pthread_t t[4]; long sum = 0;
    for (long k = 0; k < 4; k++) pthread_create(&t[k], 0, work, (void *)k);
    for (int k = 0; k < 4; k++) { void *r; pthread_join(t[k], &r); sum += (long)r; }
    printf("threads %ld\n", sum);
}
static volatile int stop_beating; static volatile int beats;
static void beat(int s, siginfo_t *i, void *c) { beats++; }
static void *beaten(void *p) { uint64_t x = 1; for (int k = 0; k < 200000 || !stop_beating; k++) if (k < 200000) x = x * 6364136223846793005ull + 1442695040888963407ull + (x >> 33); return (void *)x; }
static void test_beaten(int signal) {
    on(signal, beat, 0); pthread_t t; void *r; stop_beating = 0;
    pthread_create(&t, 0, beaten, 0);
    for (int k = 0; k < 30; k++) { int before = beats; pthread_kill(t, signal); while (beats == before) ; }
    stop_beating = 1; pthread_join(t, &r);
    printf("beaten %d %d %lx\n", signal, beats, (long)r);
}
/* --- control flow that faults --- */
static void back(int s, siginfo_t *i, void *c) {
    greg_t *r = ((ucontext_t *)c)->uc_mcontext.gregs;
    skipped[0]++;
    if (r[REG_RIP] == 0 || r[REG_RIP] == (greg_t)hidden) { r[REG_RIP] = *(greg_t *)r[REG_RSP]; r[REG_RSP] += 8; r[REG_RAX] = 5; }
    else { r[REG_RIP] += 2; r[REG_RAX] = 6; }
}
static void test_calls(void) {
    on(SIGSEGV, back, 0);
    long sum = 0; skipped[0] = 0;
    for (int k = 0; k < 20; k++) {
        long (*volatile none)(void) = 0, (*volatile locked)(void) = (void *)hidden;
        sum += none() + locked();
        long v; __asm__ volatile("xor %%eax,%%eax\nmov $3, %%ecx\ncall *(%%rax)\nadd %%rcx, %%rax" : "=a"(v)::"rcx", "memory", "cc"); sum += v;
        __asm__ volatile("xor %%eax,%%eax\nmov $3, %%ecx\njmp *(%%rax)\nadd %%rcx, %%rax" : "=a"(v)::"rcx", "memory", "cc"); sum += v;
        __asm__ volatile("xor %%eax,%%eax\nmov $3, %%ecx\npush (%%rax)\nadd %%rcx, %%rax" : "=a"(v)::"rcx", "memory", "cc"); sum += v;
    }
    printf("calls %d %ld\n", skipped[0], sum);
}
/* --- SIGTRAP, blocked and not: a mask that is set, one of a handler, one that a handler's end restores --- */
static volatile int trapped, masked;
static int is_masked(int signal) { sigset_t m; sigprocmask(SIG_BLOCK, 0, &m); return sigismember(&m, signal); }
static void trap(int s, siginfo_t *i, void *c) { trapped++; masked += is_masked(SIGTRAP); }
static void *trapped_beside(void *p) { __asm__ volatile("int3"); return (void *)(long)is_masked(SIGTRAP); }
static void test_traps(void) {
    on(SIGTRAP, trap, 0); on(SIGUSR1, mine, 0);
    for (int k = 0; k < 4; k++) __asm__ volatile("int3");
    raise(SIGTRAP); kill(getpid(), SIGTRAP);
    sigset_t one, old, pending; sigemptyset(&one); sigaddset(&one, SIGTRAP); sigprocmask(SIG_BLOCK, &one, &old);
    raise(SIGUSR1); raise(SIGTRAP);
    int held = trapped, still = is_masked(SIGTRAP); sigpending(&pending);
    int waits = sigismember(&pending, SIGTRAP) + sigismember(&pending, SIGUSR1);
    sigprocmask(SIG_SETMASK, &old, 0);
    int after = trapped; pthread_t t; void *there;
    pthread_create(&t, 0, trapped_beside, 0); pthread_join(t, &there);
    printf("traps %d %d %d %d %d %d %d %d\n", held, still, waits, after, trapped, masked, self, (int)(long)there);
}
/* --- a file that grows under a store --- */
static int file; static char *mapped;
static void grow(int s, siginfo_t *i, void *c) { count++; ftruncate(file, 4096 * (count + 1)); }
static void test_bus(void) {
    on(SIGBUS, grow, 0); count = 0;
    file = memfd_create("grows", 0); mapped = mmap(0, 16 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    long sum = 0;
    for (int k = 0; k < 8; k++) { mapped[k * 4096] += k + 1; sum += mapped[k * 4096]; }
    printf("bus %d %ld\n", count, sum);
}
static void test_gather(void) {
    if (!__builtin_cpu_supports("avx2")) { printf("gather 0\n"); return; }
    on(SIGSEGV, open_next, 0); count = 0; int sum = 0;
    for (int k = 0; k < 10; k++) {
        int *a = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int j = 0; j < 4096; j++) a[j] = j;
        mprotect(a, 4 * 4096, PROT_NONE);
        int result[8]; static const int index[8] = {0, 1, 1024, 1025, 2048, 5, 3072, 9};
        __asm__ volatile("vmovdqu %2, %%ymm1\nvpcmpeqd %%ymm2,%%ymm2,%%ymm2\nvpgatherdd %%ymm2, (%1,%%ymm1,4), %%ymm0\nvmovdqu %%ymm0, %0" : "=m"(result) : "r"(a), "m"(index) : "xmm0", "xmm1", "xmm2", "memory");
        for (int j = 0; j < 8; j++) sum += result[j] * (j + 1);
        munmap(a, 4 * 4096);
    }
    printf("gather %d %d\n", count, sum);
}
int main(int argc, char **argv) {
    if (argc != 3 || freopen(argv[2], "w", stdout) == NULL)
        return 1;
    hidden = page(PROT_NONE);
    guarded = page(PROT_NONE);
    stack_t stack = {malloc(65536), 0, 65536};
    if (strcmp(argv[1], "unprepared"))
        sigaltstack(&stack, 0);
#define RUN(name, call) if (!strcmp(argv[1], name)) { call; fflush(stdout); }
    RUN("guard", test_guard())
    RUN("registers", test_registers())
    RUN("unprepared", test_overflow())
    RUN("pointer", test_pointer())
    RUN("jump", test_jump())
    RUN("skip", test_skip())
    RUN("timer", test_timer())
    RUN("raise", test_raise())
    RUN("strings", test_strings())
    RUN("nested", test_nested())
    RUN("overflow", test_overflow())
    RUN("threads", test_threads())
    RUN("beaten", test_beaten(SIGUSR1))
    RUN("sent", test_beaten(SIGSEGV); test_beaten(SIGBUS); test_beaten(SIGFPE); test_beaten(SIGILL); test_beaten(SIGTRAP))
    RUN("traps", test_traps())
    RUN("bus", test_bus())
    RUN("calls", test_calls())
    RUN("gather", test_gather())
    return 7;
}
