/* data_keys.h - what ConfigMaps and Secrets have in common: maps whose keys may become files. */
#ifndef MUSTER_API_DATA_KEYS_H
#define MUSTER_API_DATA_KEYS_H

#include "api/kind.h"

#define DATA_LIMIT_BYTES (1024u * 1024u)

/* Keys, total size, and with old.immutable that nothing changed. maps ends with NULL. */
void data_maps_validate(const struct json *object, const struct json *old, const char *const *maps,
                        struct err *err);

#endif
