/*
 * web.h - serves the console's own pages and files: what npm built and the binary holds
 * (console/assets.h), or in its place a page that says it was left out. Knows nothing of jobs and
 * asks nothing of the API: everybody may have these files, what they show is asked for by the page.
 */
#ifndef MUSTER_CONSOLE_WEB_H
#define MUSTER_CONSOLE_WEB_H

#include "net/mount.h"

/* Whether a GET is for a page or file of the console and not for the API: "/assets/..." always,
 * else what a browser asks for as a page. accept may be NULL. */
bool web_wants(const char *method, const char *path, const char *accept);

/* Of all the console's files; "" when they were left out. */
const char *web_hash(void);

/* A mount_fn; arg is not used. */
void web_handle(void *arg, const struct mount_request *r);

#endif
