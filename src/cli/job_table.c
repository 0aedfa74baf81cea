#include "cli/job_table.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "api/table.h"
#include "base/timefmt.h"
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/jobphase.h"
#include "core/job.h"
#include "core/schedule.h"

static size_t name_columns(const struct job_table_shape *shape, const char *names[COLUMNS_LIMIT])
{
    static const char *const always[] = {"PHASE", "READY", "RESTARTS", "AGE"};
    size_t n = 0;

    if (shape->all)
        names[n++] = "NAMESPACE";
    names[n++] = "NAME";
    if (!shape->no_kind)
        names[n++] = "KIND";
    for (size_t i = 0; i < ELEMS(always); i++)
        names[n++] = always[i];
    if (shape->queue)
        names[n++] = "QUEUE";
    if (shape->progress)
        names[n++] = "PROGRESS";
    names[n++] = "WHY";
    if (shape->runtime)
        names[n++] = "RUNTIME";
    if (shape->wide)
        names[n++] = "UID";
    if (shape->tags)
        names[n++] = "TAGS";
    if (shape->note)
        names[n++] = "NOTE";
    return n;
}

/* Of its first pods; "" when the node decides. */
static const char *runtime_class(const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    const struct json *first = json_first(json_get(spec, "replicaSpecs"));

    return json_string(json_at(first ? first : spec, "template", "spec", "runtimeClassName"), "");
}

const char *job_table_queue(const struct json *job)
{
    const struct json *ours = json_at(job, "spec", "scheduler", "t9kScheduler");
    const char *queue = json_string(json_at(job, "status", "queue"), NULL);

    return queue || !ours ? queue : json_get_string(ours, "queue", DEFAULT_QUEUE);
}

/* 0: not in line. */
static int64_t place_of(const struct json *job)
{
    return json_int(json_at(job, "status", "place"), 0);
}

/* "night #2": in the queue night, and second in the line of all queues; the first has no number. */
static void add_queue(struct columns *c, const struct json *job)
{
    const char *queue = job_table_queue(job);
    int64_t place = place_of(job);

    queue = queue || place < 1 ? queue : DEFAULT_QUEUE;
    if (place > PLACES_TOLD)
        columns_addf(c, "%s #>%d", queue, PLACES_TOLD);
    else if (place > 1)
        columns_addf(c, "%s #%lld", queue, (long long)place);
    else
        columns_add(c, queue ? queue : "");
}

static void add_tags(struct columns *c, const struct json *job)
{
    struct buf text = BUF_INIT(CLI_TEXT_LIMIT_BYTES);

    json_each (label, object_labels(job))
        if (strncmp(label->key, TAG_PREFIX, strlen(TAG_PREFIX)) == 0)
            buf_addf(&text, "%s%s", text.len ? "," : "", label->key + strlen(TAG_PREFIX));
    columns_add(c, text.len ? text.data : "");
    buf_release(&text);
}

/* Its first line. */
static void add_note(struct columns *c, const struct json *job)
{
    const char *note = object_annotation(job, ANNOTATION_NOTE);

    columns_addf(c, "%.*s", note ? (int)strcspn(note, "\r\n") : 0, note ? note : "");
}

static void add_row(struct arena *a, struct columns *c, const struct json *job, int64_t now_ms,
                    const struct job_table_shape *shape)
{
    const struct kind *k = kind_of_object(job);
    char age[TIME_TEXT_SIZE], progress[JOB_PROGRESS_SIZE];
    /* A running job has a reason only when something is wrong: a replica failed, or is missing. */
    const char *why = job_has_succeeded(job) ? "" : job_why(job);

    if (shape->all)
        columns_add(c, object_namespace(job));
    columns_add(c, object_name(job));
    if (!shape->no_kind)
        columns_add(c, json_get_string(job, "kind", ""));
    columns_add(c, object_is_deleting(job) ? "Deleting" : job_phase(job));
    columns_add(c, table_cell_text(a, k ? table_cell(a, k, "Running", job, now_ms) : NULL));
    columns_addf(c, "%lld", (long long)job_restarts(job));
    columns_add(c, time_age(now_ms - object_created_ms(job), age));
    if (shape->queue)
        add_queue(c, job);
    if (shape->progress)
        columns_add(c, job_progress(job, shape->wide, progress));
    columns_add(c, why);
    if (shape->runtime)
        columns_add(c, runtime_class(job));
    if (shape->wide)
        columns_add(c, object_uid(job));
    if (shape->tags)
        add_tags(c, job);
    if (shape->note)
        add_note(c, job);
}

static void fill(struct columns *c, struct arena *a, const struct json *list, int64_t now_ms,
                 const struct job_table_shape *shape)
{
    const char *names[COLUMNS_LIMIT];

    columns_init(c, names, name_columns(shape, names));
    json_each (job, json_get(list, "items"))
        add_row(a, c, job, now_ms, shape);
}

void job_table_write(struct arena *a, const struct json *list, int64_t now_ms, size_t width,
                     struct job_table_shape shape, struct buf *out)
{
    struct columns table;

    json_each (job, json_get(list, "items")) {
        shape.progress = shape.progress || json_at(job, "status", "progress");
        shape.queue = shape.queue || json_at(job, "spec", "scheduler", "t9kScheduler") ||
                      place_of(job) > 0;
        json_each (label, object_labels(job))
            shape.tags |= shape.wide && strncmp(label->key, TAG_PREFIX, strlen(TAG_PREFIX)) == 0;
        shape.runtime |= shape.wide && *runtime_class(job);
        shape.note |= shape.wide && object_annotation(job, ANNOTATION_NOTE);
    }
    fill(&table, a, list, now_ms, &shape);
    if (columns_lost(&table, width) > 0) {
        columns_release(&table);
        shape.no_kind = true;
        fill(&table, a, list, now_ms, &shape);
    }
    columns_write(&table, width, out);
    columns_release(&table);
}
