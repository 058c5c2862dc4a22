/* A hybrid program of MPI and OpenMP that solves something step by step. The arguments say
   what goes wrong in which rank, and in which directory each rank works. */
#include <mpi.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double sink;

static void compute(void)
{
    while (sink >= 0) /* a loop without an exit would be reported as one that makes no progress */
        for (int i = 0; i < 1000000; i++)
            sink += i * 0.5;
}

static double residual(int rank)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp barrier
    }
    return sum + rank;
}

static void receive(int from)
{
    char text[16];
    MPI_Recv(text, 16, MPI_CHAR, from, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void deadlock(void)
{
    static omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            omp_set_lock(&lock);
#pragma omp barrier
    }
}

/* A communicator of the two halves of the job, in which the half of the bad rank waits for it. */
static void halves(int bad, int rank, int size)
{
    MPI_Comm half;
    double in = rank, out;
    int mine = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, mine, rank, &half);
    MPI_Comm_set_name(half, mine ? "upper half" : "lower half");
    if (rank == bad)
        compute();
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, half);
}

/* Large messages in a circle, forever: the job is healthy. */
static void exchange(int rank, int size)
{
    enum { LENGTH = 32 << 20 };
    char *out = malloc(LENGTH), *in = malloc(LENGTH);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    memset(out, rank, LENGTH);
    for (;;) {
        MPI_Request r;
        MPI_Irecv(in, LENGTH, MPI_CHAR, before, 6, MPI_COMM_WORLD, &r);
        MPI_Ssend(out, LENGTH, MPI_CHAR, next, 6, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, LENGTH, MPI_CHAR, next, 7, in, LENGTH, MPI_CHAR, before, 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void fault(const char *kind, int rank, int size)
{
    if (!strcmp(kind, "compute"))
        compute();
    if (!strcmp(kind, "receive"))
        receive((rank + 1) % size);
    if (!strcmp(kind, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(kind, "deadlock"))
        deadlock();
    if (!strcmp(kind, "finalize"))
        MPI_Finalize();
    if (!strcmp(kind, "root"))
        MPI_Bcast(&sink, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    if (!strcmp(kind, "crash")) {
        raise(SIGSTOP); /* until the test has stopped the launcher, which would end the others */
        *(volatile int *)0 = 1;
    }
}

static void solve(const char *kind, int bad, int rank, int size)
{
    double in, out;
    for (int step = 0;; step++) {
        in = residual(rank);
        if (step == 3 && rank == 0) {
            printf("READY\n");
            fflush(stdout);
        }
        if (step == 3 && !strcmp(kind, "exchange"))
            exchange(rank, size);
        if (step == 3 && !strcmp(kind, "halves"))
            halves(bad, rank, size);
        if (step == 3 && rank == bad)
            fault(kind, rank, size);
        if (step == 3 && !strcmp(kind, "ring"))
            receive((rank + 1) % size);
        if (step == 3 && !strcmp(kind, "send"))
            MPI_Ssend(&sink, 1, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD);
        if (step == 3 && !strcmp(kind, "root"))
            MPI_Bcast(&sink, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        usleep(2000);
    }
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 3) {
        char dir[4096];
        snprintf(dir, sizeof dir, "%s/%d", argv[3], rank);
        if (chdir(dir)) {
            perror(dir);
            return 1;
        }
    }
    solve(argv[1], atoi(argv[2]), rank, size);
    MPI_Finalize();
    return 0;
}
