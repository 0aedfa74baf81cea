/*
 * common_options.h - options shared by several commands, so that they have the same names and help.
 * own is the command's struct of options, with a member of the option's name.
 */
#ifndef MUSTER_CLI_COMMON_OPTIONS_H
#define MUSTER_CLI_COMMON_OPTIONS_H

#include "cli/node_limits.h"
#include "cli/options.h"

/* clang-format off */
#define OPTION_DIR(own) \
    OPTION_OF_TEXT(own, dir, "dir", "DIR", "data folder (default: $MUSTER_HOME, else ~/.muster)")
#define OPTION_KUBECONFIG(own) \
    OPTION_OF_TEXT(own, kubeconfig, "kubeconfig", "FILE", "where the API server is")
#define OPTION_LEASE_NAMESPACE(own) \
    OPTION_OF_TEXT(own, ns, "namespace", "NAME", "of the Lease (default: kube-system)")
#define OPTION_HEALTH(own) \
    OPTION_OF_TEXT(own, health, "health", "ADDRESS", \
                   "serve /healthz, /readyz and /metrics there, like 0.0.0.0:8443, over TLS")
#define OPTION_NODE_NAME(own) \
    OPTION_OF_TEXT(own, node_name, "node-name", "NAME", \
                   "what this machine is called (default: its host name)")
#define OPTION_OVERCOMMIT(own) \
    OPTION_OF_FLAG(own, overcommit, "overcommit", \
                   "start jobs even when CPU and memory do not suffice")
#define OPTION_NOTIFY_LOCAL(own) \
    OPTION_OF_FLAG(own, notify_local, "notify-local", \
                   "Notifications may go to this machine itself and to link-local addresses")
/* own has a member limits, a struct node_limits_text. */
#define OPTIONS_NODE_LIMITS(own) \
    OPTION_OF_TEXT(own, limits.cpus, "cpus", "N", \
                   "CPU that pods may ask for (default: the machine's)"), \
    OPTION_OF_TEXT(own, limits.memory, "memory", "SIZE", \
                   "memory that pods may ask for (default: the machine's)"), \
    OPTION_OF_TEXT(own, limits.gpus, "gpus", "LIST", \
                   "GPUs that pods may use, like 0,2-3, or none (default: all)"), \
    OPTION_OF_TEXT(own, limits.gpu_shares, "gpu-shares", "N[:LIST]", \
                   "hand GPUs out in N shares each, as nvidia.com/gpu.shared: all, or those of " \
                   "LIST"), \
    OPTION_OF_TEXT(own, limits.log_limit, "log-limit", "SIZE", \
                   "kept of one run's log, the newest (default " LOG_LIMIT_DEFAULT \
                   "); of a job's gone pods 4 times that")
#define OPTION_RAW(own) \
    OPTION_OF_FLAG(own, raw, "raw", \
                   "pass control characters on to a terminal (default: show them)")
#define OPTION_VERBOSE(own) OPTION_OF_FLAG(own, verbose, "verbose", "log more", .letter = 'v')
/* clang-format on */

#endif
