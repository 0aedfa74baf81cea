/*
 * supervisor.h - the process that stays with a pod: `muster supervise <pod folder>`. It owns the
 * programs' pipes, writes their logs and the exit record, and does not depend on the daemon.
 */
#ifndef MUSTER_RUNTIME_SUPERVISOR_H
#define MUSTER_RUNTIME_SUPERVISOR_H

#define SUPERVISOR_COMMAND "supervise"

/* argv: program, "supervise", folder. The calling process exits as soon as its child, the
 * supervisor, certainly owns the pod: 0 it does, 3 it was started before (or is being started), 1
 * anything else. */
int supervisor_main(int argc, char **argv);

#endif
