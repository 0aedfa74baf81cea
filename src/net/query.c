/* query.c - see query.h. */
#include "net/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "base/timefmt.h"

const char *const query_log_levels[LINE_LEVELS] = {
    [LINE_ERROR] = "error", [LINE_WARN] = "warn",   [LINE_DEBUG] = "debug",
    [LINE_INFO] = "info",   [LINE_OTHER] = "other",
};

const char *query_param(struct arena *a, const char *query, const char *name)
{
    size_t name_len = strlen(name);

    while (*query) {
        size_t len = strcspn(query, "&");

        if (len == name_len && strncmp(query, name, name_len) == 0)
            return "";
        if (len > name_len && strncmp(query, name, name_len) == 0 && query[name_len] == '=')
            return percent_decode_query(a, query + name_len + 1, len - name_len - 1);
        query += len + (query[len] == '&');
    }
    return NULL;
}

int query_number(struct arena *a, const char *query, const char *name, int64_t min, int64_t max,
                 int64_t otherwise, int64_t *ret, struct err *err)
{
    const char *text = query_param(a, query, name);
    long long value;
    char *end;

    *ret = otherwise;
    if (!text || !*text)
        return 0;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end || errno || value < min || value > max)
        return err_set(err, ERR_BAD_REQUEST,
                       "%s: \"%.100s\" is not a whole number from %lld to %lld", name, text,
                       (long long)min, (long long)max);
    *ret = value;
    return 0;
}

int query_count(const char *name, const char *value, int64_t otherwise, int64_t *ret,
                struct err *err)
{
    long long n;
    char *end;

    *ret = otherwise;
    if (!value || !*value)
        return 0;
    errno = 0;
    n = strtoll(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno)
        return err_set(err, ERR_BAD_REQUEST,
                       "%s: Invalid value: \"%s\": must be a whole number, 0 or more", name, value);
    *ret = n;
    return 0;
}

bool query_flag(const char *value)
{
    /* Python's client writes False */
    return value && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0;
}

/* SEGMENT.BYTE or a time. */
static int parse_place(const char *text, struct node_log_place *ret, struct err *err)
{
    unsigned segment;
    long long byte;
    int end = -1;

    *ret = (struct node_log_place){.kind = LOG_PLACE_NONE};
    if (!text || !*text)
        return 0;
    if (sscanf(text, "%9u.%18lld%n", &segment, &byte, &end) == 2 && !text[end] && byte >= 0)
        *ret = (struct node_log_place){.kind = LOG_PLACE_BYTE, .segment = segment, .byte = byte};
    else if (time_parse(text, &ret->time_ms) == 0)
        ret->kind = LOG_PLACE_TIME;
    else
        return err_set(err, ERR_BAD_REQUEST,
                       "from: Invalid value: \"%.100s\": must be a place that an answer had in "
                       "\"at\" or \"next\", like 0.4711, or a time like 2026-01-31T15:04:05Z",
                       text);
    return 0;
}

static int parse_levels(const char *text, unsigned *ret, struct err *err)
{
    *ret = 0;
    while (text && *text) {
        size_t len = strcspn(text, ","), i = 0;

        while (i < LINE_LEVELS &&
               (strlen(query_log_levels[i]) != len || strncmp(query_log_levels[i], text, len) != 0))
            i++;
        if (i == LINE_LEVELS)
            return err_set(err, ERR_BAD_REQUEST,
                           "level: Invalid value: \"%.*s\": must be some of error, warn, debug, "
                           "info, other",
                           (int)min_size(len, 100), text);
        *ret |= 1u << i;
        text += len + (text[len] == ',');
    }
    return 0;
}

static int parse_search(struct arena *a, const char *query, struct node_log_options *o,
                        struct err *err)
{
    static const char *const needs[] = {"regex", "ignoreCase", "level", "back", "count", "lines"};
    static const char *const not_with[] = {"follow",       "tailLines", "limitBytes",
                                           "sinceSeconds", "sinceTime", "offsets"};
    struct node_log_search *s = &o->search;
    int rc = parse_levels(query_param(a, query, "level"), &s->levels, err);

    s->text = query_param(a, query, "search");
    s->wanted = s->text != NULL;
    s->user = NULL;
    s->regex = query_flag(query_param(a, query, "regex"));
    s->ignore_case = query_flag(query_param(a, query, "ignoreCase"));
    s->back = query_flag(query_param(a, query, "back"));
    s->count = query_flag(query_param(a, query, "count"));
    if (rc == 0)
        rc = query_number(a, query, "lines", 0, NODE_LOG_LINES_LIMIT, 100, &s->lines, err);
    for (size_t i = 0; rc == 0 && !s->wanted && i < ELEMS(needs); i++)
        if (query_param(a, query, needs[i]))
            rc = err_set(err, ERR_BAD_REQUEST,
                         "%s: is for searches: use search=TEXT, or search= for every line",
                         needs[i]);
    for (size_t i = 0; rc == 0 && s->wanted && i < ELEMS(not_with); i++)
        if (query_flag(query_param(a, query, not_with[i])))
            rc = err_set(err, ERR_BAD_REQUEST,
                         "%s: cannot be combined with search: use from, back and lines",
                         not_with[i]);
    return rc;
}

int query_log_options(struct arena *a, const char *query, int64_t now_ms,
                      struct node_log_options *ret, struct err *err)
{
    const char *since = query_param(a, query, "sinceTime");
    const char *stream = query_param(a, query, "stream");
    int64_t seconds;
    int rc = query_count("tailLines", query_param(a, query, "tailLines"), -1, &ret->tail_lines,
                         err);

    if (rc == 0)
        rc = query_count("limitBytes", query_param(a, query, "limitBytes"), -1, &ret->limit_bytes,
                         err);
    if (rc == 0)
        rc = query_count("attempt", query_param(a, query, "attempt"), NODE_ANY_ATTEMPT,
                         &ret->attempt, err);
    if (rc == 0)
        rc = query_count("sinceSeconds", query_param(a, query, "sinceSeconds"), -1, &seconds, err);
    if (rc == 0 && stream && *stream && strcmp(stream, "All") != 0)
        rc = err_set(err, ERR_BAD_REQUEST,
                     "stream: Unsupported value: \"%.100s\": supported values: \"All\"; stdout and "
                     "stderr are one log here",
                     stream);
    if (rc != 0)
        return rc;
    ret->follow = query_flag(query_param(a, query, "follow"));
    ret->timestamps = query_flag(query_param(a, query, "timestamps"));
    ret->previous = query_flag(query_param(a, query, "previous"));
    ret->offsets = query_flag(query_param(a, query, "offsets"));
    rc = parse_place(query_param(a, query, "from"), &ret->from, err);
    if (rc == 0)
        rc = parse_search(a, query, ret, err);
    if (rc != 0)
        return rc;
    ret->since_ms = 0;
    if (seconds >= 0)
        ret->since_ms = now_ms - min_i64(seconds, INT32_MAX) * 1000;
    else if (since && *since && time_parse(since, &ret->since_ms) < 0)
        rc = err_set(err, ERR_BAD_REQUEST,
                     "sinceTime: Invalid value: \"%s\": must be a time like 2026-01-31T15:04:05Z",
                     since);
    return rc;
}

int query_streams(struct arena *a, const char *query, const char *const names[NODE_STREAMS],
                  struct node_command *ret, struct err *err)
{
    for (int i = 0; i < NODE_STREAMS; i++)
        ret->wanted[i] = query_flag(query_param(a, query, names[i]));
    ret->tty = query_flag(query_param(a, query, "tty"));
    if (!ret->wanted[NODE_STDIN] && !ret->wanted[NODE_STDOUT] && !ret->wanted[NODE_STDERR])
        return err_set(err, ERR_BAD_REQUEST,
                       "you must specify at least 1 of stdin, stdout, stderr");
    if (ret->tty && ret->wanted[NODE_STDERR])
        return err_set(err, ERR_BAD_REQUEST, "tty and stderr cannot both be true");
    return 0;
}

/* All values of a parameter that may be repeated, NULL-terminated; NULL with err set. */
static const char **query_values(struct arena *a, const char *query, const char *name,
                                 struct err *err)
{
    const char **values = arena_alloc(a, (QUERY_ARGV_LIMIT + 1) * sizeof(*values));
    size_t n = 0, name_len = strlen(name);

    if (!values)
        (void)err_set(err, ERR_UNAVAILABLE, "out of memory");
    for (const char *at = query; values && *at;) {
        size_t len = strcspn(at, "&");

        if (strncmp(at, name, name_len) == 0 && at[name_len] == '=') {
            values[n] = n < QUERY_ARGV_LIMIT
                            ? percent_decode_query(a, at + name_len + 1, len - name_len - 1)
                            : NULL;
            if (!values[n++]) {
                (void)err_set(err, ERR_BAD_REQUEST,
                              n > QUERY_ARGV_LIMIT ? "the query has too many values of %s"
                                                   : "the query's value of %s is malformed",
                              name);
                return NULL;
            }
        }
        at += len + (at[len] == '&');
    }
    return values;
}

int query_argv(struct arena *a, const char *query, struct node_command *ret, struct err *err)
{
    const char **argv = query_values(a, query, "command", err);

    if (!argv)
        return err_errno(err->reason);
    ret->argv = argv;
    return *argv ? 0 : err_set(err, ERR_BAD_REQUEST, "you must specify a command");
}

int query_ports(struct arena *a, const char *query, const char *name, struct node_ports *ret,
                struct err *err)
{
    const char **values = query_values(a, query, name, err);

    if (!values)
        return err_errno(err->reason);
    *ret = (struct node_ports){.count = 0};
    for (; *values; values++)
        for (const char *at = *values; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            char *end;
            unsigned long port = strtoul(at, &end, 10);

            if (*at < '0' || *at > '9' || (*end && *end != ',') || !port || port > 65535)
                return err_set(err, ERR_BAD_REQUEST,
                               "%s: Invalid value: \"%s\": must be ports from 1 to 65535", name,
                               *values);
            if (ret->count == NODE_PORTS_LIMIT)
                return err_set(err, ERR_BAD_REQUEST, "%s: at most %u are allowed", name,
                               NODE_PORTS_LIMIT);
            ret->all[ret->count++] = (uint16_t)port;
        }
    return 0;
}
