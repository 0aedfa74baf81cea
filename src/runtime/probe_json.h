/* probe_json.h - a container's probes and the source of its last message, in run.json. */
#ifndef MUSTER_RUNTIME_PROBE_JSON_H
#define MUSTER_RUNTIME_PROBE_JSON_H

#include "base/json.h"
#include "port/runtime.h"

void probe_json_add(struct arena *a, struct json *container, const struct container_start *c);
void probe_json_read(struct arena *a, const struct json *container, struct container_start *c);

#endif
