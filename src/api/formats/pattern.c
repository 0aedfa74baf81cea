/* pattern.c - see api/pattern.h. */
#include "api/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#define MATCH_STEPS 200000u
#define MATCH_HEAP_KIB 4096u

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
};

struct pattern *pattern_new(const char *text)
{
    struct pattern *p = strlen(text) <= PATTERN_LIMIT_BYTES ? calloc(1, sizeof(*p)) : NULL;
    PCRE2_SIZE at;
    int code;

    if (!p)
        return NULL;
    p->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &code,
                            &at, NULL);
    p->data = p->code ? pcre2_match_data_create(1, NULL) : NULL;
    p->limits = p->data ? pcre2_match_context_create(NULL) : NULL;
    if (!p->limits) {
        pattern_free(p);
        return NULL;
    }
    (void)pcre2_set_match_limit(p->limits, MATCH_STEPS);
    (void)pcre2_set_heap_limit(p->limits, MATCH_HEAP_KIB);
    return p;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

int pattern_find(const struct pattern *p, const char *text, size_t len, size_t from,
                 size_t *ret_start, size_t *ret_end)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text, len, from, 0, p->data, p->limits);
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->data);

    if (rc < 0)
        return rc == PCRE2_ERROR_NOMATCH ? 0 : -E2BIG;
    *ret_start = at[0];
    *ret_end = at[1];
    return 1;
}
