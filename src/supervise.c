/*
 * supervise.c - the supervisor as a program of its own, held inside muster's binary
 * (cli/supervisor_image.h): of all its libraries it needs the C library only, and every pod has
 * one. What it needs beyond that fails to link.
 */
#include "runtime/supervisor.h"

int main(int argc, char **argv)
{
    return supervisor_main(argc, argv);
}
