/* cmd_image.c - `muster image`: container images in the data folder. Works with and without a
 * running daemon. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/home.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "runtime/image_store.h"

struct image_options {
    const char *dir;
};

static const struct option_spec options[] = {
    OPTION_DIR(struct image_options),
    {0},
};

struct image_call {
    struct cli *cli;
    const char *data;
    const struct args *args;
};

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum exit_code list(const struct image_call *c)
{
    static const char *const header[] = {"NAME", "DIGEST", "SIZE", "USED"};
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);
    auto_err err = ERR_INIT;
    struct columns table;
    struct image *images = NULL;
    char age[TIME_TEXT_SIZE];
    size_t len = 0;

    if (image_list(&c->cli->arena, c->data, &images, &len, &err) != 0)
        return command_fail(c->cli, &err);
    columns_init(&table, header, ELEMS(header));
    for (size_t i = 0; i < len; i++) {
        columns_add(&table, images[i].name);
        columns_addf(&table, "%.12s", images[i].digest + strlen("sha256:"));
        columns_addf(&table, "%.1f MB", (double)images[i].bytes / 1e6);
        columns_addf(&table, "%s ago", time_age(now_ms() - images[i].used_ms, age));
    }
    columns_write(&table, 0, &text);
    output_text(&text);
    columns_release(&table);
    buf_release(&text);
    return EXIT_OK;
}

/* from: skopeo's name of a source other than the registry, or NULL. */
static enum exit_code get(const struct image_call *c, const char *given, const char *from)
{
    auto_err err = ERR_INIT;
    struct image_pull pull = {.data = c->data, .from = from};
    struct image image;

    if (image_name_complete(&c->cli->arena, given, &pull.name, &err) != 0 ||
        image_pull(&c->cli->arena, &pull, &image, &err) != 0)
        return command_fail(c->cli, &err);
    printf("%s %s\n", image.name, image.digest);
    return EXIT_OK;
}

/* NAME, docker-daemon:NAME:TAG or containers-storage:NAME. */
static enum exit_code pull(const struct image_call *c)
{
    static const char *const others[] = {"docker-daemon:", "containers-storage:"};
    enum exit_code code = EXIT_OK;

    for (size_t i = 1; i < c->args->len && code == EXIT_OK; i++) {
        const char *name = c->args->list[i], *from = NULL;

        for (size_t k = 0; k < ELEMS(others); k++)
            if (strncmp(name, others[k], strlen(others[k])) == 0) {
                from = name;
                name += strlen(others[k]);
                break;
            }
        code = get(c, name, from);
    }
    return code;
}

/* A tar file of docker save, or of an OCI layout. */
static enum exit_code load(const struct image_call *c)
{
    const char *path = c->args->list[1];
    const char *kind = strstr(path, ".oci") ? "oci-archive" : "docker-archive";

    return get(c, c->args->list[2], arena_printf(&c->cli->arena, "%s:%s", kind, path));
}

static enum exit_code drop(const struct image_call *c)
{
    enum exit_code code = EXIT_OK;

    for (size_t i = 1; i < c->args->len; i++) {
        auto_err err = ERR_INIT;
        const char *name;

        if (image_name_complete(&c->cli->arena, c->args->list[i], &name, &err) != 0 ||
            image_remove(&c->cli->arena, c->data, name, &err) != 0)
            code = command_fail(c->cli, &err);
        else
            printf("%s removed\n", name);
    }
    return code;
}

static const struct {
    const char *name, *usage;
    size_t least, most;
    enum exit_code (*run)(const struct image_call *c);
} verbs[] = {{"ls", "ls", 0, 0, list},
             {"pull", "pull NAME...", 1, ARGS_LIMIT, pull},
             {"load", "load FILE NAME", 2, 2, load},
             {"rm", "rm NAME...", 1, ARGS_LIMIT, drop}};

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct image_options *o = values;
    const char *verb = args->len > 0 ? args->list[0] : "ls";
    struct image_call c = {.cli = cli, .args = args};
    size_t words = args->len > 0 ? args->len - 1 : 0;
    auto_err err = ERR_INIT;
    struct home home;

    if (home_locate(&cli->arena, o->dir, &home, &err) || home_create(&home, &err))
        return command_fail(cli, &err);
    c.data = home.dir;
    for (size_t i = 0; i < ELEMS(verbs); i++) {
        if (strcmp(verbs[i].name, verb) != 0)
            continue;
        if (words >= verbs[i].least && words <= verbs[i].most)
            return verbs[i].run(&c);
        talk_errorf(&cli->talk, "usage: muster image %s", verbs[i].usage);
        return EXIT_USAGE;
    }
    talk_errorf(&cli->talk, "muster image has ls, pull, load and rm, not '%s'", verb);
    return EXIT_USAGE;
}

const struct command command_image = {
    .name = "image",
    .args = "ls | pull NAME... | load FILE NAME | rm NAME...",
    .summary = "List, pull and remove container images of this machine",
    .examples = "  muster image pull docker.io/library/python:3.12\n"
                "  muster image pull docker-daemon:mine:latest\n"
                "  muster image load mine.tar mine:1\n"
                "  muster image ls\n",
    .help = "Pods with runtimeClassName: image run in these, and pull what is missing.\n"
            "Needs the programs skopeo and umoci.\n",
    .options = options,
    .options_size = sizeof(struct image_options),
    .max_args = ARGS_LIMIT,
    .run = run,
};
