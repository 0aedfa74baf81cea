/* talk.c - see talk.h. All text that may come from elsewhere loses its control characters here: an
 * object's message cannot move the cursor or forge a second line. */
#include "cli/talk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/status_line.h"
#include "cli/tame.h"
#include "cli/words.h"

#define TALK_LINE_LIMIT 4096
#define SOURCE_LINE_LIMIT 160 /* of a quoted line; a longer one is cut */

#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"
#define CYAN "\033[36m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* Distinguishable on dark and light backgrounds; no red (errors) and no grey (notes). */
static const char *const replica_colors[] = {"\033[36m", "\033[33m", "\033[32m", "\033[35m",
                                             "\033[34m", "\033[96m", "\033[93m", "\033[92m"};

static bool env_set(const char *name)
{
    const char *v = getenv(name);

    return v && *v;
}

static bool wants_color(enum talk_color mode, int fd)
{
    const char *term = getenv("TERM");
    const char *force = getenv("CLICOLOR_FORCE");

    if (mode != TALK_COLOR_AUTO)
        return mode == TALK_COLOR_ALWAYS;
    if (env_set("NO_COLOR"))
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    if (!term || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fd);
}

void talk_init(struct talk *t, enum talk_color mode)
{
    struct winsize size;

    *t = (struct talk){.color_out = wants_color(mode, STDOUT_FILENO),
                       .color_err = wants_color(mode, STDERR_FILENO)};
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        t->columns = size.ws_col;
}

printf_like(4, 0) static void write_line(const struct talk *t, const char *color, const char *word,
                                         const char *fmt, va_list args)
{
    char line[TALK_LINE_LIMIT];

    (void)vsnprintf(line, sizeof(line), words(fmt), args);
    tame_blank(line);
    status_line_hide();
    fprintf(stderr, "%s%s%s%s\n", t->color_err ? color : "", words(word),
            t->color_err && *color ? PLAIN : "", line);
    status_line_show();
}

#define WRITE_LINE(color, word)                                                                    \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, fmt);                                                                       \
        write_line(t, color, word, fmt, args);                                                     \
        va_end(args);                                                                              \
    } while (0)

void talk_errorf(const struct talk *t, const char *fmt, ...)
{
    WRITE_LINE(RED, "error: ");
}

void talk_hint(const struct talk *t, const char *fmt, ...)
{
    WRITE_LINE(CYAN, "  hint: ");
}

void talk_warn(const struct talk *t, const char *fmt, ...)
{
    WRITE_LINE(YELLOW, "warning: ");
}

void talk_note(const struct talk *t, const char *fmt, ...)
{
    WRITE_LINE("", "");
}

void talk_error(const struct talk *t, const struct err *e)
{
    talk_errorf(t, "%s", e->text && *e->text ? e->text : err_reason_name(e->reason));
    /* A single cause is already in the text. */
    if (e->causes && e->causes->next)
        for (const struct err_cause *c = e->causes; c; c = c->next)
            talk_note(t, "  %s: %s", c->field, c->text);
    if (e->hint)
        talk_hint(t, "%s", e->hint);
}

void talk_source(const struct talk *t, unsigned line, const char *text, size_t len, unsigned column,
                 unsigned width)
{
    const char *dim = t->color_err ? DIM : "", *red = t->color_err ? RED : "",
               *plain = t->color_err ? PLAIN : "";
    char shown[SOURCE_LINE_LIMIT + 1];

    len = min_size(len, SOURCE_LINE_LIMIT);
    (void)snprintf(shown, sizeof(shown), "%.*s", (int)len, text);
    tame_blank(shown);
    fprintf(stderr, "%s%5u |%s %s\n", dim, line, plain, shown);
    if (column == 0 || column > len + 1)
        return;
    fprintf(stderr, "%s      |%s ", dim, plain);
    /* Continuation bytes of UTF-8 take no column of their own. */
    for (size_t i = 0; i + 1 < column; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            fputc(' ', stderr);
    fputs(red, stderr);
    for (size_t i = 0; i < max_size(width, 1); i++)
        fputc('^', stderr);
    fprintf(stderr, "%s\n", plain);
}

const char *talk_replica_color(const struct talk *t, size_t n)
{
    return t->color_out ? replica_colors[n % ELEMS(replica_colors)] : "";
}

const char *talk_plain(const struct talk *t)
{
    return t->color_out ? PLAIN : "";
}
