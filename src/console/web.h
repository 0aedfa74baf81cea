/*
 * web.h - serves the console's own pages and files, built by npm into the binary
 * (console/assets.h), or instead a page saying that they were left out. Knows nothing of jobs and
 * does not use the API: these files are public, and the page itself requests what it shows.
 */
#ifndef MUSTER_CONSOLE_WEB_H
#define MUSTER_CONSOLE_WEB_H

#include "net/mount.h"

/* Whether a GET is for a page or file of the console rather than the API: "/assets/..." always,
 * otherwise what a browser requests as a page. accept may be NULL. */
bool web_wants(const char *method, const char *path, const char *accept);

/* Of all the console's files; "" if left out. */
const char *web_hash(void);

/* A mount_fn; arg is not used. */
void web_handle(void *arg, const struct mount_request *r);

#endif
