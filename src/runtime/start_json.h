/* start_json.h - the mounts and identities of run.json. */
#ifndef MUSTER_RUNTIME_START_JSON_H
#define MUSTER_RUNTIME_START_JSON_H

#include "base/json.h"
#include "port/runtime.h"

void start_json_add_container(struct arena *a, struct json *item, const struct container_start *c);
int start_json_read_container(struct arena *a, const struct json *item, struct container_start *c,
                              struct err *err) must_check;
void start_json_add_pod(struct arena *a, struct json *v, const struct pod_start *p);
int start_json_read_pod(struct arena *a, const struct json *v, struct pod_start *p,
                        struct err *err) must_check;

#endif
