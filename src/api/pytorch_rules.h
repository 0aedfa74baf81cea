/* pytorch_rules.h - what the table of PyTorchTrainingJob cannot say. */
#ifndef MUSTER_API_PYTORCH_RULES_H
#define MUSTER_API_PYTORCH_RULES_H

#include "api/kind.h"

void pytorch_validate(const struct json *job, const struct json *old, struct err *err);
void pytorch_warn(const struct json *job, void (*say)(void *arg, const char *text), void *arg);
/* All replicas wanted: the sum over types, or what elastic asks for. */
int64_t pytorch_total_replicas(const struct json *job);

#endif
