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
    OPTION_OF_TEXT(own, kubeconfig, "kubeconfig", "FILE", "kubeconfig of the API server")
#define OPTION_LEASE_NAMESPACE(own) \
    OPTION_OF_TEXT(own, ns, "namespace", "NAME", "namespace of the Lease (default: kube-system)")
#define OPTION_HEALTH(own) \
    OPTION_OF_TEXT(own, health, "health", "ADDRESS", \
                   "serve /healthz, /readyz and /metrics over TLS here, like 0.0.0.0:8443")
#define OPTION_NODE_NAME(own) \
    OPTION_OF_TEXT(own, node_name, "node-name", "NAME", \
                   "name of this machine's Node (default: its host name)")
#define OPTION_OVERCOMMIT(own) \
    OPTION_OF_FLAG(own, overcommit, "overcommit", \
                   "start jobs even when CPU and memory do not suffice")
#define OPTION_NOTIFY_LOCAL(own) \
    OPTION_OF_FLAG(own, notify_local, "notify-local", \
                   "allow Notifications to this machine and to link-local addresses")
/* own has a member limits, a struct node_limits_text. */
#define OPTIONS_NODE_LIMITS(own) \
    OPTION_OF_TEXT(own, limits.cpus, "cpus", "N", \
                   "CPU available to pods (default: the machine's)"), \
    OPTION_OF_TEXT(own, limits.memory, "memory", "SIZE", \
                   "memory available to pods (default: the machine's)"), \
    OPTION_OF_TEXT(own, limits.gpus, "gpus", "LIST", \
                   "GPUs available to pods, like 0,2-3, or none (default: all)"), \
    OPTION_OF_TEXT(own, limits.gpu_shares, "gpu-shares", "N[:LIST]", \
                   "divide GPUs into N shares each, as nvidia.com/gpu.shared: all, or those in LIST"), \
    OPTION_OF(OPTION_CHOICE, own, limits.runtime, "runtime", "process|image", \
              "how pods without a runtimeClassName run: with this machine's software, or in their " \
              "image (default process)", .values = node_runtimes), \
    OPTION_OF_TEXT(own, limits.image_limit, "image-limit", "SIZE", \
                   "room for unpacked images; beyond it those unused longest are removed"), \
    OPTION_OF_TEXT(own, limits.log_limit, "log-limit", "SIZE", \
                   "how much of a run's log is kept (default " LOG_LIMIT_DEFAULT \
                   "); 4 times that for a job's deleted pods")
#define OPTION_RAW(own) \
    OPTION_OF_FLAG(own, raw, "raw", \
                   "print control characters to a terminal unchanged (default: show them)")
#define OPTION_VERBOSE(own) OPTION_OF_FLAG(own, verbose, "verbose", "log more", .letter = 'v')
/* clang-format on */

#endif
