/* assets.h - the console's files, built by npm and linked in (tools/embed-assets.sh). */
#ifndef MUSTER_CONSOLE_ASSETS_H
#define MUSTER_CONSOLE_ASSETS_H

#include "base/base.h"

struct asset {
    const char *path; /* "/assets/main.HASH.js" */
    const char *type, *etag;
    const unsigned char *raw, *raw_end; /* NULL: only the two compressed forms exist: */
    const unsigned char *br, *br_end;
    const unsigned char *gz, *gz_end;
};

extern const struct asset console_assets[]; /* sorted by path; empty when built with CONSOLE=0 */
extern const size_t console_assets_len;
extern const char console_hash[]; /* "" if empty */

#endif
