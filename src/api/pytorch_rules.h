/* pytorch_rules.h - PyTorchTrainingJob beyond its table. */
#ifndef MUSTER_API_PYTORCH_RULES_H
#define MUSTER_API_PYTORCH_RULES_H

#include "api/kind.h"

void pytorch_validate(const struct json *job, const struct json *old, struct err *err);
void pytorch_warn(const struct json *job, void (*say)(void *arg, const char *text), void *arg);
/* The number of replicas wanted: the sum over types, or the elastic number. */
int64_t pytorch_total_replicas(const struct json *job);

#endif
