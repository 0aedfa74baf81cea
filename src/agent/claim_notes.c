/* claim_notes.c - see claim_notes.h. */
#include "agent/claim_notes.h"

#include <dirent.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_group(const struct container_identity *id, gid_t group)
{
    for (size_t i = 0; i < id->groups_len; i++)
        if (id->groups[i] == group)
            return true;
    return id->gid == group;
}

/* An ordinary user's pods run as that user, whatever number they ask for. */
static bool may_write(const struct container_identity *id, const char *folder,
                      const struct stat *st)
{
    if (geteuid() != 0)
        return access(folder, W_OK | X_OK) == 0;
    if (!id->wanted || id->uid == 0)
        return true;
    if (st->st_uid == id->uid)
        return (st->st_mode & S_IWUSR) != 0;
    return (st->st_mode & (has_group(id, st->st_gid) ? S_IWGRP : S_IWOTH)) != 0;
}

static const char *owner_of(struct arena *a, uid_t uid)
{
    const struct passwd *user = getpwuid(uid);

    return user ? arena_strdup(a, user->pw_name) : arena_printf(a, "user %u", (unsigned)uid);
}

static bool is_empty(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    bool empty = d != NULL;

    while (empty && (e = readdir(d)) != NULL)
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (d)
        (void)closedir(d);
    return empty;
}

static const char *joined(struct arena *a, const char *before, const char *more)
{
    return before && more ? arena_printf(a, "%s; %s", before, more) : more;
}

void claim_notes_add(struct arena *a, const struct claims *claims, const char *ns,
                     const char *claim, const struct container_mount *m, struct container_start *c)
{
    const struct container_identity *id = &c->identity;
    const char *other;
    struct stat st;

    if (stat(m->source, &st) != 0)
        return;
    if (!m->read_only && !may_write(id, m->source, &st))
        c->denied_note = joined(
            a, c->denied_note,
            arena_printf(a,
                         "claim \"%s\" is the folder %s, which belongs to %s (mode %04o): user %u "
                         "may not write there",
                         claim, m->source, owner_of(a, st.st_uid), (unsigned)(st.st_mode & 07777),
                         id->wanted ? id->uid : (unsigned)geteuid()));
    if (!is_empty(m->source))
        return;
    other = claims_mapped_elsewhere(claims, a, ns, claim);
    c->missing_note = joined(
        a, c->missing_note,
        arena_printf(a, "claim \"%s\" of namespace %s is the empty folder %s%s", claim, ns,
                     m->source,
                     other ? arena_printf(a, "; --volume maps it in namespace %s", other) : ""));
}
