/* json_schema_fields.h - the members of an openAPIV3Schema. structural.h checks them; protobuf,
 * where members have numbers instead of names, needs this list. */
#ifndef MUSTER_API_JSON_SCHEMA_FIELDS_H
#define MUSTER_API_JSON_SCHEMA_FIELDS_H

#include "api/kind.h"

extern const struct field json_schema_fields[];

#endif
