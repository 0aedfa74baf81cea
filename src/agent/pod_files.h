/* pod_files.h - keeps the files that a running pod has of ConfigMaps, Secrets and its own fields.
 */
#ifndef MUSTER_AGENT_POD_FILES_H
#define MUSTER_AGENT_POD_FILES_H

#include "agent/agent_internal.h"

/* For a running pod: brings its files up to date when due, and schedules the next time. */
void pod_files_keep(struct pod_work *w, const struct json *pod);

#endif
