/*
 * protobuf.h - request bodies in Kubernetes' protobuf form, which kubectl from 1.32 on sends with
 * some commands and does not send again as JSON. Only what clients send that way has a table here;
 * answers are JSON always.
 */
#ifndef MUSTER_API_PROTOBUF_H
#define MUSTER_API_PROTOBUF_H

#include "base/json.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* The object, as if it had come as JSON. 400 when it is malformed, 415 when the kind has no table.
 */
struct json *protobuf_parse(struct arena *a, const char *data, size_t len,
                            struct err *err) must_check;

#endif
