"""An all-reduce with mpi4py: every rank brings a vector, all of them get the sum, and each checks it.

    mpirun -np 4 python3 allreduce.py
"""
import array
import sys

from mpi4py import MPI


def main():
    world = MPI.COMM_WORLD
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 16
    mine = array.array("d", [float(world.rank + 1)] * length)
    total = array.array("d", bytes(8 * length))
    print(f"rank {world.rank} of {world.size} on {MPI.Get_processor_name()}", flush=True)
    begin = MPI.Wtime()
    world.Allreduce(mine, total, op=MPI.SUM)
    seconds = MPI.Wtime() - begin
    expected = world.size * (world.size + 1) / 2
    wrong = sum(value != expected for value in total)
    if world.rank == 0:
        print(f"sum of {world.size} vectors of {length} numbers is {expected:g} everywhere, in {seconds * 1000:.1f} ms")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
