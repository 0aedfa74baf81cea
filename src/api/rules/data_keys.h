/* data_keys.h - shared by ConfigMap and Secret: maps whose keys may become file names. */
#ifndef MUSTER_API_DATA_KEYS_H
#define MUSTER_API_DATA_KEYS_H

#include "api/kind.h"

#define DATA_LIMIT_BYTES (1024u * 1024u)

/* Checks keys, total size, and, with old.immutable, that nothing changed. maps is
 * NULL-terminated. */
void data_maps_validate(const struct json *object, const struct json *old, const char *const *maps,
                        struct err *err);

#endif
