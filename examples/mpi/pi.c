/*
 * pi.c - computes pi over all ranks of an MPI job: each adds up its share of the midpoint rule for
 * the integral of 4 / (1 + x^2) from 0 to 1, and rank 0 prints the sum.
 *
 *   mpicc -O2 -o pi pi.c && mpirun -np 4 ./pi
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_STEPS 20000000L

static double partial_sum(long steps, int rank, int size)
{
    double width = 1.0 / (double)steps, sum = 0.0;

    for (long i = rank; i < steps; i += size) {
        double x = ((double)i + 0.5) * width;

        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, length;
    double mine, pi = 0.0;
    long steps;

    MPI_Init(&argc, &argv);
    steps = argc > 1 ? atol(argv[1]) : DEFAULT_STEPS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);
    mine = partial_sum(steps, rank, size);
    MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pi is %.12f, off by %.1e, after %ld steps\n", pi, fabs(pi - acos(-1.0)), steps);
    MPI_Finalize();
    return 0;
}
