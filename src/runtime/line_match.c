/* line_match.c - see line_match.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/line_match.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Of one line: an expression that goes back and forth ends here, after some milliseconds. */
#define STEPS_LIMIT 100000u
#define HEAP_LIMIT_KIB 4096u
#define NESTING_LIMIT 100u

/* As the console tells them (console/src/logs/lines.ts). */
static const char *const level_patterns[LINE_OTHER] = {
    [LINE_ERROR] = "\\b(?:ERROR|CRITICAL|FATAL)\\b|^Traceback|Error:|Exception:",
    [LINE_WARN] = "\\b(?:WARN|WARNING)\\b|Warning:",
    [LINE_DEBUG] = "\\b(?:DEBUG|TRACE)\\b",
    [LINE_INFO] = "\\bINFO\\b",
};

struct line_match {
    pcre2_code *pattern; /* NULL: every line */
    pcre2_code *levels[LINE_OTHER];
    unsigned wanted; /* levels; 0: all */
    pcre2_match_context *limits;
    pcre2_match_data *data;
};

static pcre2_code *compile(const char *text, uint32_t options, pcre2_compile_context *context,
                           struct err *err)
{
    PCRE2_UCHAR why[256];
    PCRE2_SIZE at = 0;
    int code = 0;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)text, strlen(text),
                                   options | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &at,
                                   context);

    if (!re) {
        (void)pcre2_get_error_message(code, why, sizeof(why));
        (void)err_set(err, ERR_BAD_REQUEST,
                      "not a regular expression: %s, at character %zu of \"%.200s\"",
                      (const char *)why, at, text);
        return NULL;
    }
    (void)pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* without it, it is only slower */
    return re;
}

static int compile_all(struct line_match *m, const struct node_log_search *s,
                       pcre2_compile_context *context, struct err *err)
{
    uint32_t options = (s->regex ? PCRE2_NEVER_BACKSLASH_C : PCRE2_LITERAL) |
                       (s->ignore_case ? PCRE2_CASELESS : 0u);

    for (size_t i = 0; i < LINE_OTHER && s->levels; i++) {
        m->levels[i] = compile(level_patterns[i], 0, context, err);
        if (!m->levels[i])
            return -1;
    }
    if (*s->text)
        m->pattern = compile(s->text, options, context, err);
    return *s->text && !m->pattern ? -1 : 0;
}

struct line_match *line_match_new(const struct node_log_search *s, struct err *err)
{
    struct line_match *m;
    pcre2_compile_context *context;

    if (strlen(s->text) > NODE_LOG_PATTERN_LIMIT_BYTES) {
        (void)err_set(err, ERR_BAD_REQUEST, "may have at most %u bytes",
                      NODE_LOG_PATTERN_LIMIT_BYTES);
        return NULL;
    }
    m = calloc(1, sizeof(*m));
    context = pcre2_compile_context_create(NULL);
    if (m) {
        m->wanted = s->levels;
        m->limits = pcre2_match_context_create(NULL);
        m->data = pcre2_match_data_create(1, NULL);
    }
    if (!m || !context || !m->limits || !m->data) {
        (void)err_set(err, ERR_UNAVAILABLE, "out of memory");
    } else {
        (void)pcre2_set_parens_nest_limit(context, NESTING_LIMIT);
        (void)pcre2_set_match_limit(m->limits, STEPS_LIMIT);
        (void)pcre2_set_depth_limit(m->limits, STEPS_LIMIT);
        (void)pcre2_set_heap_limit(m->limits, HEAP_LIMIT_KIB);
        if (compile_all(m, s, context, err) == 0) {
            pcre2_compile_context_free(context);
            return m;
        }
    }
    pcre2_compile_context_free(context);
    line_match_free(m);
    return NULL;
}

void line_match_free(struct line_match *m)
{
    if (!m)
        return;
    pcre2_code_free(m->pattern);
    for (size_t i = 0; i < LINE_OTHER; i++)
        pcre2_code_free(m->levels[i]);
    pcre2_match_context_free(m->limits);
    pcre2_match_data_free(m->data);
    free(m);
}

static int test(const struct line_match *m, const pcre2_code *re, const char *text, size_t len,
                size_t *ret_at)
{
    int rc = pcre2_match(re, (PCRE2_SPTR)text, len, 0, 0, m->data, m->limits);

    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return -E2BIG; /* one of the limits */
    *ret_at = pcre2_get_ovector_pointer(m->data)[0];
    return 1;
}

/* Levels behind the last that is wanted need not be told apart. */
static int test_level(const struct line_match *m, const char *text, size_t len)
{
    size_t at;

    for (unsigned i = 0; i < LINE_OTHER; i++) {
        int rc = m->wanted >> i ? test(m, m->levels[i], text, len, &at) : 0;

        if (rc != 0)
            return rc < 0 ? rc : (int)(m->wanted >> i & 1u);
    }
    return (int)(m->wanted >> LINE_OTHER & 1u);
}

int line_match_test(const struct line_match *m, const char *text, size_t len, size_t *ret_at)
{
    int rc = m->pattern ? test(m, m->pattern, text, len, ret_at) : 1;

    if (!m->pattern)
        *ret_at = 0;
    return rc == 1 && m->wanted ? test_level(m, text, len) : rc;
}
