/*
 * supervisor.h - the process that stays with a pod: `muster supervise <pod folder>`. It owns the
 * programs' pipes, writes their logs and the exit record, and does not care whether the daemon
 * lives.
 */
#ifndef MUSTER_RUNTIME_SUPERVISOR_H
#define MUSTER_RUNTIME_SUPERVISOR_H

#define SUPERVISOR_COMMAND "supervise"

/* argv: program, "supervise", folder. The calling process returns (exits) as soon as the pod is
 * surely owned by its child, the supervisor: 0 it is, 3 it was started before (or is just being), 1
 * anything else. */
int supervisor_main(int argc, char **argv);

#endif
