/*
 * tensorboard.c - TensorBoard as an app: its messages, and waiting for the folder of its event
 * files. See tensorboard.h.
 */
#include "core/tensorboard.h"

#include <string.h>

#include "api/object.h"
#include "api/tensorboard_rules.h"

#define NO_FOLDER "NoFolder"

static const char *job_of(const struct json *board)
{
    const char *name = json_get_string(object_controller(board), "name", "");

    return *name ? name : "JOB";
}

static const char *folder_words(struct app_look *l)
{
    struct tensorboard_folder folders[TENSORBOARD_FOLDERS_LIMIT];
    size_t len = tensorboard_folders(l->arena, json_get(l->app, "spec"), folders);
    const char *list = "";

    for (size_t i = 0; i < len; i++)
        list = arena_printf(l->arena, "%s%s%s of the claim %s", list ? list : "", i ? ", " : "",
                            *folders[i].path ? folders[i].path : ".", folders[i].claim);
    return arena_printf(l->arena,
                        "%s not exist: %s. It starts once the program that writes the event files "
                        "has created the folder.",
                        len == 1 ? "Its folder does" : "None of its folders does", list);
}

static bool explain_end(struct app_look *l)
{
    if (!l->snapshot->shared_network)
        return false;
    if (l->state.exit_code == APP_EXIT_NOT_YET) {
        l->reason = NO_FOLDER;
        l->message = folder_words(l);
        return true;
    }
    if (l->state.exit_code != APP_EXIT_NOT_FOUND)
        return false;
    l->reason = APP_NOT_INSTALLED;
    l->message = arena_printf(
        l->arena,
        "tensorboard is not installed on this machine: pip install tensorboard, so that it is in "
        "the PATH or the virtual environment of muster up; it is looked for again every few "
        "minutes. Curves need none: muster board %s, or the Training tab of the console.",
        job_of(l->app));
    return true;
}

/* The same folders were missing last time: still valid until it answers. */
static bool explain_wait(struct app_look *l)
{
    if (!json_string_is(json_get(l->status, "reason"), NO_FOLDER) ||
        !json_equal(json_get(l->status, "observedGeneration"),
                    json_at(l->app, "metadata", "generation")))
        return false;
    l->reason = NO_FOLDER;
    l->message = folder_words(l);
    return true;
}

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    app_reconcile(&app_kind_tensorboard, s, plan);
}

static void wanted_names(struct arena *a, const struct json *board,
                         void (*say)(void *arg, const char *name), void *arg)
{
    app_wanted_names(&app_kind_tensorboard, a, board, say, arg);
}

static const struct job_kind job = {
    .kind = &kind_tensorboard, .reconcile = reconcile, .wanted_names = wanted_names};

const struct app_kind app_kind_tensorboard = {.job = &job,
                                              .path = TENSORBOARD_PATH_PREFIX,
                                              .suffix = TENSORBOARD_SUFFIX,
                                              .container = "tensorboard",
                                              .program = "tensorboard",
                                              .port_on_cluster = 6006,
                                              .pod_new = tensorboard_pod_new,
                                              .pod_fits = tensorboard_pod_fits,
                                              .explain_end = explain_end,
                                              .explain_wait = explain_wait};
