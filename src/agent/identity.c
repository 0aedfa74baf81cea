/*
 * identity.c - see identity.h.
 *
 * If no group is named, a cluster uses the image's or group 0. Without an image, group 0
 * is the machine's own, so it is the user's group in the machine's passwd, or else one with the
 * user's number.
 */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/object.h"

#define PASSWD_ENTRY_LIMIT_BYTES 16384
#define PASSWD_FILE_LIMIT_BYTES (1024 * 1024) /* of an image */

/* --- reading --- */

struct wish {
    const struct json *user, *group, *non_root, *volume_group, *more_groups;
};

static const struct json *either(const struct json *container, const struct json *pod,
                                 const char *field)
{
    const struct json *v = json_at(container, "securityContext", field);

    return json_is_null(v) ? json_at(pod, "spec", "securityContext", field) : v;
}

static struct wish wish_of(const struct json *pod, const struct json *container)
{
    const struct json *common = json_at(pod, "spec", "securityContext");

    return (struct wish){.user = either(container, pod, "runAsUser"),
                         .group = either(container, pod, "runAsGroup"),
                         .non_root = either(container, pod, "runAsNonRoot"),
                         .volume_group = json_get(common, "fsGroup"),
                         .more_groups = json_get(common, "supplementalGroups")};
}

static int check_range(const struct json *v, const char *field, struct err *err)
{
    int64_t id = json_int(v, 0);

    if (id >= 0 && id <= USER_ID_LIMIT)
        return 0;
    return err_set(err, ERR_INVALID, "securityContext.%s must be between 0 and %d, not %lld", field,
                   USER_ID_LIMIT, (long long)id);
}

static int check_wish(const struct wish *w, struct err *err)
{
    int rc = check_range(w->user, "runAsUser", err);

    if (rc == 0)
        rc = check_range(w->group, "runAsGroup", err);
    if (rc == 0)
        rc = check_range(w->volume_group, "fsGroup", err);
    json_each (g, w->more_groups)
        if (rc == 0)
            rc = check_range(g, "supplementalGroups", err);
    if (rc == 0 && json_len(w->more_groups) > POD_GROUPS_LIMIT / 2)
        rc = err_set(err, ERR_INVALID, "securityContext.supplementalGroups: at most %d groups",
                     POD_GROUPS_LIMIT / 2);
    return rc;
}

static int check_non_root(const struct wish *w, const struct identity_machine *m, struct err *err)
{
    if (!json_bool(w->non_root, false) || json_int(w->user, m->uid) != 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "securityContext.runAsNonRoot is true, but the program would run as root: set "
                   "securityContext.runAsUser");
}

/* --- as root --- */

static void add_group(uint32_t *groups, size_t *n, uint32_t gid)
{
    for (size_t i = 0; i < *n; i++)
        if (groups[i] == gid)
            return;
    if (*n < POD_GROUPS_LIMIT)
        groups[(*n)++] = gid;
}

static int set_root_identity(struct arena *a, const struct wish *w, uint32_t uid,
                             const struct identity_user *user, struct identity *ret,
                             struct err *err)
{
    uint32_t *groups = arena_alloc(a, POD_GROUPS_LIMIT * sizeof(*groups));
    size_t n = 0;

    if (!groups)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (w->volume_group)
        add_group(groups, &n, (uint32_t)json_int(w->volume_group, 0));
    json_each (g, w->more_groups)
        add_group(groups, &n, (uint32_t)json_int(g, 0));
    for (size_t i = 0; i < user->groups_len; i++)
        add_group(groups, &n, user->groups[i]);
    ret->id = (struct container_identity){.wanted = true,
                                          .uid = uid,
                                          .gid = (uint32_t)json_int(w->group, user->gid),
                                          .groups = groups,
                                          .groups_len = n};
    return 0;
}

static int by_root(struct arena *a, const struct wish *w, const struct identity_machine *m,
                   struct identity *ret, struct err *err)
{
    uint32_t uid = (uint32_t)json_int(w->user, 0);
    struct identity_user user = {.name = "", .home = m->home ? m->home : "/", .gid = uid};

    if (!w->user && !w->group && !w->volume_group && json_len(w->more_groups) == 0)
        return 0;
    if (w->user && m->find_user)
        (void)m->find_user(a, uid, &user);
    if (set_root_identity(a, w, uid, &user, ret, err) != 0)
        return -ENOMEM;
    if (uid != 0) {
        ret->name = user.name;
        ret->home = user.home;
    }
    return 0;
}

/* --- as an ordinary user --- */

/* fsGroup asks for writable volumes: they belong to the user anyway, whatever the number.
 * Additional groups are impossible. */
static int by_user(const struct wish *w, const struct identity_machine *m, uint32_t uid,
                   uint32_t gid, struct identity *ret, struct err *err)
{
    json_each (g, w->more_groups)
        if (json_int(g, 0) != m->gid && json_int(g, 0) != gid)
            return err_set(err, ERR_INVALID,
                           "securityContext.supplementalGroups %lld cannot be given: only root "
                           "can; run muster as root or leave it out",
                           (long long)json_int(g, 0));
    if (uid == m->uid && gid == m->gid)
        return 0;
    if (m->obstacle)
        return err_set(err, ERR_INVALID,
                       "securityContext.%s is %u, but muster runs as user %u, group %u: %s",
                       uid != m->uid ? "runAsUser" : "runAsGroup", uid != m->uid ? uid : gid,
                       m->uid, m->gid, m->obstacle);
    ret->id = (struct container_identity){.wanted = true, .uid = uid, .gid = gid};
    return 0;
}

int identity_of(struct arena *a, const struct json *pod, const struct json *container,
                const struct identity_machine *m, struct identity *ret, struct err *err)
{
    struct wish w = wish_of(pod, container);
    int rc = check_wish(&w, err);

    *ret = (struct identity){.id = {.wanted = false}};
    if (rc == 0)
        rc = check_non_root(&w, m, err);
    if (rc != 0)
        return rc;
    return m->uid == 0 ? by_root(a, &w, m, ret, err)
                       : by_user(&w, m, (uint32_t)json_int(w.user, m->uid),
                                 (uint32_t)json_int(w.group, m->gid), ret, err);
}

/* --- users of an image --- */

/* The file is the image author's: links in it stay inside the image. */
static FILE *open_in_image(int root_fd, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    struct stat st;
    FILE *f;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > PASSWD_FILE_LIMIT_BYTES) {
        if (fd >= 0)
            (void)close(fd);
        return NULL;
    }
    f = fdopen(fd, "r");
    if (!f)
        (void)close(fd);
    return f;
}

static bool read_number(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end || n > USER_ID_LIMIT)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/* By name or number. */
static bool find_image_user(struct arena *a, int root_fd, const char *who, uint32_t *ret_uid,
                            struct identity_user *ret)
{
    bool by_number = read_number(who, ret_uid), found = false;
    FILE *f = open_in_image(root_fd, "/etc/passwd");
    const struct passwd *p;

    while (f && !found && (p = fgetpwent(f)) != NULL) {
        found = by_number ? p->pw_uid == *ret_uid : strcmp(p->pw_name, who) == 0;
        if (!found)
            continue;
        *ret_uid = p->pw_uid;
        ret->name = arena_strdup(a, p->pw_name);
        ret->home = arena_strdup(a, p->pw_dir[0] == '/' ? p->pw_dir : "/");
        ret->gid = p->pw_gid;
    }
    if (f)
        (void)fclose(f);
    return found || by_number;
}

static bool is_member(char *const *members, const char *name)
{
    for (; *members; members++)
        if (strcmp(*members, name) == 0)
            return true;
    return false;
}

/* The groups a user is in, and the number of the group called wanted, if that is not NULL. */
static bool read_image_groups(struct arena *a, int root_fd, const char *wanted,
                              struct identity_user *user)
{
    bool found = !wanted || read_number(wanted, &user->gid);
    uint32_t *groups = arena_alloc(a, POD_GROUPS_LIMIT * sizeof(*groups));
    FILE *f = groups ? open_in_image(root_fd, "/etc/group") : NULL;
    const struct group *g;

    while (f && (g = fgetgrent(f)) != NULL) {
        if (wanted && !found && strcmp(g->gr_name, wanted) == 0) {
            user->gid = g->gr_gid;
            found = true;
        }
        if (*user->name && is_member(g->gr_mem, user->name) &&
            user->groups_len < POD_GROUPS_LIMIT / 2)
            groups[user->groups_len++] = g->gr_gid;
    }
    if (f)
        (void)fclose(f);
    user->groups = groups;
    return found;
}

static int check_image_non_root(const struct wish *w, const char *user, uint32_t uid,
                                struct err *err)
{
    uint32_t number;

    if (!json_bool(w->non_root, false))
        return 0;
    if (uid == 0)
        return err_set(err, ERR_INVALID,
                       "container has runAsNonRoot and image will run as root: set "
                       "securityContext.runAsUser");
    if (!w->user && !read_number(user, &number))
        return err_set(err, ERR_INVALID,
                       "container has runAsNonRoot and image has non-numeric user (%s), cannot "
                       "verify user is non-root: set securityContext.runAsUser",
                       user);
    return 0;
}

int identity_of_image(struct arena *a, const struct json *pod, const struct json *container,
                      const struct identity_machine *m, const char *user, int root_fd,
                      struct identity *ret, struct err *err)
{
    struct wish w = wish_of(pod, container);
    struct identity_user entry = {.name = "", .home = "/", .gid = 0};
    const char *colon = strchr(user, ':'), *group = colon && !w.user ? colon + 1 : NULL;
    const char *name = *user ? arena_strndup(a, user, strcspn(user, ":")) : "0";
    uint32_t uid = 0;
    int rc = check_wish(&w, err);

    *ret = (struct identity){.id = {.wanted = false}};
    if (w.user)
        name = arena_printf(a, "%lld", (long long)json_int(w.user, 0));
    if (rc == 0 && (!name || !find_image_user(a, root_fd, name, &uid, &entry)))
        rc = err_set(err, ERR_INVALID, "the image has no user \"%s\", as which it is to run",
                     name ? name : "");
    if (rc == 0 && !read_image_groups(a, root_fd, group, &entry))
        rc = err_set(err, ERR_INVALID, "the image has no group \"%s\", as which it is to run",
                     group);
    if (rc == 0)
        rc = check_image_non_root(&w, name, uid, err);
    if (rc != 0)
        return rc;
    ret->name = entry.name;
    ret->home = entry.home;
    if (m->uid != 0)
        return by_user(&w, m, uid, (uint32_t)json_int(w.group, entry.gid), ret, err);
    return set_root_identity(a, &w, uid, &entry, ret, err);
}

uint32_t identity_volume_group(const struct json *pod, const struct identity_machine *m)
{
    int64_t group = json_int(json_at(pod, "spec", "securityContext", "fsGroup"), 0);

    return m->uid == 0 && group > 0 && group <= USER_ID_LIMIT ? (uint32_t)group : 0;
}

/* --- the machine's users --- */

bool identity_find_user(struct arena *a, uint32_t uid, struct identity_user *ret)
{
    char text[PASSWD_ENTRY_LIMIT_BYTES];
    struct passwd entry, *found = NULL;
    gid_t groups[POD_GROUPS_LIMIT];
    int n = POD_GROUPS_LIMIT;
    uint32_t *list;

    if (getpwuid_r(uid, &entry, text, sizeof(text), &found) != 0 || !found)
        return false;
    ret->name = arena_strdup(a, found->pw_name);
    ret->home = arena_strdup(a, found->pw_dir[0] == '/' ? found->pw_dir : "/");
    ret->gid = found->pw_gid;
    if (getgrouplist(found->pw_name, found->pw_gid, groups, &n) < 0)
        n = 0;
    list = arena_alloc(a, (size_t)(n + 1) * sizeof(*list));
    if (!list)
        return false;
    for (int i = 0; i < n; i++)
        list[i] = groups[i];
    ret->groups = list;
    ret->groups_len = (size_t)n;
    return true;
}
