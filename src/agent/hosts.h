/*
 * hosts.h - one hosts file per namespace, which its pods see as /etc/hosts: the machine's own
 * entries and every Service by its names. A file in use only grows: pods have that very file
 * mounted, and a reader must never see a partial line.
 */
#ifndef MUSTER_AGENT_HOSTS_H
#define MUSTER_AGENT_HOSTS_H

#include "base/err.h"

struct hosts;

struct hosts *hosts_new(const char *dir, struct err *err) must_check; /* dir is made if missing */
void hosts_free(struct hosts *h);                                     /* NULL-safe */

enum hosts_use { HOSTS_IN_USE, HOSTS_UNUSED };
/* The namespace's file; rebuilt (without stale names) when no pod uses it. */
int hosts_open(struct hosts *h, const char *ns, enum hosts_use use, const char **ret_path,
               struct err *err) must_check;
/* Whether it is worth checking if the namespace's file may be rebuilt: it is not open yet, or has
 * far more names than there are live ones, and has grown much since the last time. */
bool hosts_wants_renewal(struct hosts *h, const char *ns, size_t live);
bool hosts_is_open(const struct hosts *h, const char *ns);
/* A name that resolves to this machine in the namespace's pods. No-op when present. */
int hosts_add(struct hosts *h, const char *ns, const char *name) must_check;

#endif
