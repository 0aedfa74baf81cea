/* json_schema_fields.h - what an openAPIV3Schema may hold. structural.h checks it; protobuf, where
 * members have numbers and no names, needs the list. */
#ifndef MUSTER_API_JSON_SCHEMA_FIELDS_H
#define MUSTER_API_JSON_SCHEMA_FIELDS_H

#include "api/kind.h"

extern const struct field json_schema_fields[];

#endif
