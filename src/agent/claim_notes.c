/* claim_notes.c - see claim_notes.h. */
#include "agent/claim_notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_LOOKED_AT 256
#define ENTRIES_NAMED 4

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

static bool is_of_others(const struct container_identity *id, int folder_fd, const char *name,
                         struct stat *st)
{
    return name[0] != '.' && fstatat(folder_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode)) && st->st_uid != id->uid &&
           !may_write(id, "", st);
}

/* Names files in the folder that belong to another user and that the container's user may not
 * write: for example those of root's Notebook, in the way of a job of the namespace's user. */
static const char *note_of_others(struct arena *a, const struct container_identity *id,
                                  const char *folder, const char *claim)
{
    DIR *d = geteuid() == 0 && id->wanted && id->uid != 0 ? opendir(folder) : NULL;
    const char *names = NULL, *owner = NULL;
    const struct dirent *e;
    size_t looked_at = 0, named = 0;
    struct stat st;

    while (d && looked_at++ < ENTRIES_LOOKED_AT && named < ENTRIES_NAMED &&
           (e = readdir(d)) != NULL)
        if (is_of_others(id, dirfd(d), e->d_name, &st)) {
            names = names ? arena_printf(a, "%s, %s", names, e->d_name)
                          : arena_strdup(a, e->d_name);
            owner = owner_of(a, st.st_uid);
            named++;
        }
    if (d)
        (void)closedir(d);
    return names ? arena_printf(a,
                                "in claim \"%s\" user %u may not write what %s made (%s%s); chmod "
                                "-R a+rwX lets all users of the claim",
                                claim, id->uid, owner, names, named == ENTRIES_NAMED ? ", ..." : "")
                 : NULL;
}

static const char *joined(struct arena *a, const char *before, const char *more)
{
    return before && more ? arena_printf(a, "%s; %s", before, more) : more ? more : before;
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
    else if (!m->read_only)
        c->denied_note = joined(a, c->denied_note, note_of_others(a, id, m->source, claim));
    if (!is_empty(m->source))
        return;
    other = claims_mapped_elsewhere(claims, a, ns, claim);
    c->missing_note = joined(
        a, c->missing_note,
        arena_printf(a, "claim \"%s\" of namespace %s is the empty folder %s%s", claim, ns,
                     m->source,
                     other ? arena_printf(a, "; --volume maps it in namespace %s", other) : ""));
}
