/* event.c - see event.h. The field numbers are those of TensorFlow's event.proto and
 * summary.proto. */
#include "board/event.h"

#include <stdio.h>

enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5, EVENT_SESSION_LOG = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1 };
enum {
    VALUE_TAG = 1,
    VALUE_SIMPLE_VALUE = 2,
    VALUE_IMAGE_FIELD = 4,
    VALUE_HISTO = 5,
    VALUE_AUDIO_FIELD = 6,
    VALUE_TENSOR_FIELD = 8,
    VALUE_METADATA = 9
};
enum { METADATA_PLUGIN_DATA = 1, METADATA_DATA_CLASS = 4, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };

static bool is_session_start(const struct wire_field *log)
{
    struct wire w = wire_of(log->data, log->len);
    struct wire_field f;
    bool start = false;

    while (wire_next(&w, &f))
        if (f.number == SESSION_STATUS && f.type == WIRE_VARINT)
            start = f.number_value == SESSION_START;
    return start;
}

bool event_decode(const void *data, size_t len, struct event *ret)
{
    struct wire w = wire_of(data, len);
    struct wire_field f;

    ret->wall_time = 0;
    ret->step = 0;
    ret->session_start = false;
    ret->summaries_len = 0;
    while (wire_next(&w, &f)) {
        if (f.number == EVENT_WALL_TIME && f.type == WIRE_FIXED64)
            memcpy(&ret->wall_time, &f.number_value, sizeof(ret->wall_time));
        else if (f.number == EVENT_STEP && f.type == WIRE_VARINT)
            ret->step = (int64_t)f.number_value;
        else if (f.number == EVENT_SUMMARY && f.type == WIRE_BYTES) {
            if (ret->summaries_len < EVENT_SUMMARIES_LIMIT)
                ret->summaries[ret->summaries_len++] = wire_of(f.data, f.len);
        } else if (f.number == EVENT_SESSION_LOG && f.type == WIRE_BYTES)
            ret->session_start = is_session_start(&f);
    }
    return !w.bad;
}

static struct event_bytes bytes_of(const struct wire_field *f)
{
    return (struct event_bytes){.data = (const char *)f->data, .len = f->len};
}

static void read_plugin(const struct wire_field *plugin, struct event_value *ret)
{
    struct wire w = wire_of(plugin->data, plugin->len);
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (f.number == PLUGIN_NAME && f.type == WIRE_BYTES)
            ret->plugin = bytes_of(&f);
        else if (f.number == PLUGIN_CONTENT && f.type == WIRE_BYTES)
            ret->plugin_content = bytes_of(&f);
    }
}

static void read_metadata(const struct wire_field *metadata, struct event_value *ret)
{
    struct wire w = wire_of(metadata->data, metadata->len);
    struct wire_field f;

    ret->has_metadata = true;
    while (wire_next(&w, &f)) {
        if (f.number == METADATA_PLUGIN_DATA && f.type == WIRE_BYTES)
            read_plugin(&f, ret);
        else if (f.number == METADATA_DATA_CLASS && f.type == WIRE_VARINT)
            ret->data_class = f.number_value;
    }
}

static void read_value_field(const struct wire_field *f, struct event_value *ret)
{
    static const enum value_content contents[] = {[VALUE_IMAGE_FIELD] = VALUE_IMAGE,
                                                  [VALUE_HISTO] = VALUE_HISTOGRAM,
                                                  [VALUE_AUDIO_FIELD] = VALUE_AUDIO,
                                                  [VALUE_TENSOR_FIELD] = VALUE_TENSOR};

    if (f->number == VALUE_SIMPLE_VALUE && f->type == WIRE_FIXED32) {
        uint32_t bits = (uint32_t)f->number_value;

        ret->content = VALUE_SIMPLE;
        memcpy(&ret->simple, &bits, sizeof(ret->simple));
        return;
    }
    if (f->type != WIRE_BYTES)
        return;
    if (f->number == VALUE_TAG)
        ret->tag = bytes_of(f);
    else if (f->number == VALUE_METADATA)
        read_metadata(f, ret);
    else if (f->number < ELEMS(contents) && contents[f->number]) {
        ret->content = contents[f->number];
        ret->body = bytes_of(f);
    }
}

bool event_next_value(struct wire *summary, struct event_value *ret)
{
    struct wire_field value, f;

    while (wire_next(summary, &value)) {
        struct wire w;

        if (value.number != SUMMARY_VALUE || value.type != WIRE_BYTES)
            continue;
        *ret = (struct event_value){.content = VALUE_NONE};
        w = wire_of(value.data, value.len);
        while (wire_next(&w, &f))
            read_value_field(&f, ret);
        if (w.bad) {
            summary->bad = true;
            return false;
        }
        return true;
    }
    return false;
}

/* --- hyperparameters: HParamsPluginData, SessionStartInfo, google.protobuf.Value ------------- */

enum { HPARAMS_SESSION_START = 3, SESSION_HPARAMS = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { JSON_NUMBER = 2, JSON_TEXT = 3, JSON_TRUTH = 4 };

#define HPARAM_TEXT_SIZE 256

static void hparam_text(struct event_bytes value, char out[HPARAM_TEXT_SIZE])
{
    struct wire w = wire_of(value.data, value.len);
    struct wire_field f;
    double number;

    (void)snprintf(out, HPARAM_TEXT_SIZE, "null");
    while (wire_next(&w, &f)) {
        if (f.number == JSON_NUMBER && f.type == WIRE_FIXED64) {
            memcpy(&number, &f.number_value, sizeof(number));
            (void)snprintf(out, HPARAM_TEXT_SIZE, "%.10g", number);
        } else if (f.number == JSON_TEXT && f.type == WIRE_BYTES) {
            (void)snprintf(out, HPARAM_TEXT_SIZE, "%.*s", (int)min_size(f.len, HPARAM_TEXT_SIZE),
                           (const char *)f.data);
        } else if (f.number == JSON_TRUTH && f.type == WIRE_VARINT) {
            (void)snprintf(out, HPARAM_TEXT_SIZE, f.number_value ? "true" : "false");
        }
    }
}

static void read_hparam(const struct wire_field *entry, event_hparam_fn *fn, void *arg)
{
    struct wire w = wire_of(entry->data, entry->len);
    struct event_bytes key = {0}, value = {0};
    char text[HPARAM_TEXT_SIZE];
    struct wire_field f;

    while (wire_next(&w, &f)) {
        if (f.number == ENTRY_KEY && f.type == WIRE_BYTES)
            key = bytes_of(&f);
        else if (f.number == ENTRY_VALUE && f.type == WIRE_BYTES)
            value = bytes_of(&f);
    }
    if (!key.data || !value.data)
        return;
    hparam_text(value, text);
    fn(arg, key, text);
}

void event_each_hparam(struct event_bytes plugin_content, event_hparam_fn *fn, void *arg)
{
    struct wire w = wire_of(plugin_content.data, plugin_content.len);
    struct wire_field start, f;

    while (wire_next(&w, &start)) {
        struct wire session = wire_of(start.data, start.len);

        if (start.number != HPARAMS_SESSION_START || start.type != WIRE_BYTES)
            continue;
        while (wire_next(&session, &f))
            if (f.number == SESSION_HPARAMS && f.type == WIRE_BYTES)
                read_hparam(&f, fn, arg);
    }
}
