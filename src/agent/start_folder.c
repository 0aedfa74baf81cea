/* start_folder.c - see start_folder.h. */
#include "agent/start_folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/volume_files.h"
#include "agent/volumes.h"

#define START_VOLUME "start-folder"

const char *mount_point_in_run(const char *const path[], size_t len)
{
    struct stat st;
    bool there = geteuid() == 0;

    for (size_t i = 0; i < len && there; i++)
        there = mkdir(path[i], 0755) == 0 ? chmod(path[i], 0755) == 0
                                          : lstat(path[i], &st) == 0 && S_ISDIR(st.st_mode);
    return there ? path[len - 1] : NULL;
}

const char *start_folder_of_others(void)
{
    static const char *const path[] = {"/run/muster", "/run/muster/start"};

    return mount_point_in_run(path, ELEMS(path));
}

static const char *place_for(const struct container_start *c, const char *place)
{
    const char *others = place && c->identity.wanted && c->identity.uid != 0
                             ? start_folder_of_others()
                             : NULL;

    return others ? others : place;
}

static int make_folder(const char *path, const struct container_identity *who, struct err *err)
{
    int fd = volume_folder_make(path, 0755, 0), rc = fd < 0 ? fd : 0;

    /* An ordinary user's pods are the user's own, whatever number they see. */
    if (rc == 0 && who->wanted && geteuid() == 0 && fchown(fd, who->uid, who->gid) != 0)
        rc = -errno;
    if (fd >= 0)
        (void)close(fd);
    return rc == 0 ? 0 : err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(-rc));
}

static int prepare_one(struct arena *a, const char *folder, const char *place,
                       struct container_start *c, struct err *err)
{
    const char *path = arena_printf(a, "%s/" START_FOLDER_PREFIX "%s", folder, c->name);
    int rc = path ? make_folder(path, &c->identity, err)
                  : err_set(err, ERR_INTERNAL, "out of memory");

    if (rc != 0)
        return rc;
    if (!c->cwd)
        c->cwd = place ? place : path;
    if (place)
        container_mount_add(
            a, c,
            &(struct container_mount){.source = path, .target = place, .volume = START_VOLUME});
    return 0;
}

/* A user without a home (identity.h) has it there. */
static bool is_home(const struct container_start *c, const char *place)
{
    for (const char *const *e = c->env; place && *e; e++)
        if (strncmp(*e, "HOME=", 5) == 0 && strcmp(*e + 5, place) == 0)
            return true;
    return false;
}

int start_folders_prepare(struct arena *a, const char *folder, const char *place,
                          struct pod_start *start, struct err *err)
{
    struct container_start *copy = container_starts_copy(a, start, err);
    int rc = copy ? 0 : -ENOMEM;

    for (size_t i = 0; i < start->containers_len && rc == 0; i++) {
        const char *own = place_for(&copy[i], place);

        if (!copy[i].cwd || is_home(&copy[i], own))
            rc = prepare_one(a, folder, own, &copy[i], err);
    }
    return rc;
}
