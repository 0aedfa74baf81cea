/* line_match.c - see line_match.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/line_match.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * An expression is compiled twice. PCRE2's own limit counts the steps from one position in a line,
 * not from all positions together, and a step may read the whole line. So for short lines it is set
 * so low that a line takes a few milliseconds at most; where that is not enough, and for longer
 * lines, the other one is used, which calls us before each of its items (a fifth as fast), and
 * there the time is watched.
 */
#define SHORT_LINE_BYTES 1024u
#define SHORT_LINE_WORK 50000000u /* bytes read by all steps from all positions */
#define STEPS_LIMIT 100000u
#define HEAP_LIMIT_KIB 4096u
#define NESTING_LIMIT 100u

/* The same as in the console (console/src/logs/lines.ts). */
static const char *const level_patterns[LINE_OTHER] = {
    [LINE_ERROR] = "\\b(?:ERROR|CRITICAL|FATAL)\\b|^Traceback|Error:|Exception:",
    [LINE_WARN] = "\\b(?:WARN|WARNING)\\b|Warning:",
    [LINE_DEBUG] = "\\b(?:DEBUG|TRACE)\\b",
    [LINE_INFO] = "\\bINFO\\b",
};

struct line_match {
    pcre2_code *pattern; /* NULL: every line */
    pcre2_code *watched; /* the same, with callouts */
    size_t text_len;     /* for a text; 0: it is an expression */
    pcre2_code *levels[LINE_OTHER];
    unsigned wanted; /* levels; 0: all */
    pcre2_match_context *limits;
    pcre2_match_data *data;
    /* for the lines being tested */
    const atomic_bool *stop;
    int64_t step_until_ns, line_until_ns; /* of the thread's CPU time; 0: not started */
    long tick_ns;
};

int64_t line_match_cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Before each item of the expression. The thread's CPU time is read only when the wall clock, which
 * costs next to nothing, has advanced. */
static int watch(pcre2_callout_block *block, void *arg)
{
    struct line_match *m = arg;
    struct timespec tick;
    int64_t now;

    (void)block;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
    if (tick.tv_nsec == m->tick_ns)
        return 0;
    m->tick_ns = tick.tv_nsec;
    if (m->stop && atomic_load_explicit(m->stop, memory_order_relaxed))
        return PCRE2_ERROR_CALLOUT;
    now = line_match_cpu_ns();
    if (m->line_until_ns == 0)
        m->line_until_ns = now + LINE_MATCH_LINE_MS * 1000000LL;
    if (m->step_until_ns == 0)
        m->step_until_ns = now + LINE_MATCH_STEP_MS * 1000000LL;
    return now > m->line_until_ns || now > m->step_until_ns ? PCRE2_ERROR_MATCHLIMIT : 0;
}

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
    (void)pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* without JIT it is only slower */
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
    if (m->pattern)
        m->watched = compile(s->text, options | PCRE2_AUTO_CALLOUT, context, err);
    return *s->text && !m->watched ? -1 : 0;
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
        m->text_len = s->regex ? 0 : strlen(s->text);
        m->step_until_ns = INT64_MAX;
        m->limits = pcre2_match_context_create(NULL);
        m->data = pcre2_match_data_create(1, NULL);
    }
    if (!m || !context || !m->limits || !m->data) {
        (void)err_set(err, ERR_UNAVAILABLE, "out of memory");
    } else {
        (void)pcre2_set_parens_nest_limit(context, NESTING_LIMIT);
        (void)pcre2_set_depth_limit(m->limits, STEPS_LIMIT);
        (void)pcre2_set_heap_limit(m->limits, HEAP_LIMIT_KIB);
        (void)pcre2_set_callout(m->limits, watch, m);
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
    pcre2_code_free(m->watched);
    for (size_t i = 0; i < LINE_OTHER; i++)
        pcre2_code_free(m->levels[i]);
    pcre2_match_context_free(m->limits);
    pcre2_match_data_free(m->data);
    free(m);
}

static int test(const struct line_match *m, const pcre2_code *re, uint32_t steps, const char *text,
                size_t len, size_t *ret_at)
{
    int rc;

    (void)pcre2_set_match_limit(m->limits, steps);
    rc = pcre2_match(re, (PCRE2_SPTR)text, len, 0, 0, m->data, m->limits);
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return rc == PCRE2_ERROR_CALLOUT ? -ECANCELED : -E2BIG; /* one of the limits */
    *ret_at = pcre2_get_ovector_pointer(m->data)[0];
    return 1;
}

/* Levels after the last wanted one need not be distinguished. */
static int test_level(const struct line_match *m, const char *text, size_t len)
{
    size_t at;

    for (unsigned i = 0; i < LINE_OTHER; i++) {
        int rc = m->wanted >> i ? test(m, m->levels[i], STEPS_LIMIT, text, len, &at) : 0;

        if (rc != 0)
            return rc < 0 ? rc : (int)(m->wanted >> i & 1u);
    }
    return (int)(m->wanted >> LINE_OTHER & 1u);
}

void line_match_begin(struct line_match *m, const atomic_bool *stop)
{
    m->stop = stop;
    m->step_until_ns = 0;
}

/* How many steps it may take unwatched; 0: none. */
static uint32_t free_steps(const struct line_match *m, size_t len)
{
    if (m->text_len)
        return len <= SHORT_LINE_WORK / m->text_len ? STEPS_LIMIT : 0;
    return len <= SHORT_LINE_BYTES
               ? (uint32_t)min_size(SHORT_LINE_WORK / (len * len + 1), STEPS_LIMIT)
               : 0;
}

static int test_pattern(struct line_match *m, const char *text, size_t len, size_t *ret_at)
{
    uint32_t steps = free_steps(m, len);
    int rc;

    m->line_until_ns = 0;
    rc = steps ? test(m, m->pattern, steps, text, len, ret_at) : -E2BIG;
    return rc == -E2BIG ? test(m, m->watched, STEPS_LIMIT, text, len, ret_at) : rc;
}

int line_match_test(struct line_match *m, const char *text, size_t len, size_t *ret_at)
{
    int rc = m->pattern ? test_pattern(m, text, len, ret_at) : 1;

    if (!m->pattern)
        *ret_at = 0;
    return rc == 1 && m->wanted ? test_level(m, text, len) : rc;
}
