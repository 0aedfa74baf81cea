/* status_line.c - see status_line.h. */
#include "cli/status_line.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/columns.h"
#include "cli/tame.h"

#define STATUS_LIMIT 512

static char shown[STATUS_LIMIT]; /* "": none */

bool status_line_possible(const struct talk *t)
{
    return t->columns > 0 && t->color_err && isatty(STDERR_FILENO);
}

void status_line_hide(void)
{
    if (*shown)
        fputs("\r\033[K", stderr);
}

void status_line_show(void)
{
    if (*shown)
        fprintf(stderr, "\033[2m%s\033[0m", shown);
}

/* The last column stays empty: some terminals wrap when it is written to. */
static void cut(char *text)
{
    struct winsize size;
    size_t width = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        width = size.ws_col;
    text[columns_fit(text, width - 1)] = '\0';
}

void status_line_set(const struct talk *t, const char *text)
{
    char next[STATUS_LIMIT];

    if (!status_line_possible(t))
        return;
    (void)snprintf(next, sizeof(next), "%s", text);
    tame_blank(next);
    cut(next);
    if (strcmp(next, shown) == 0)
        return;
    status_line_hide();
    memcpy(shown, next, sizeof(shown));
    status_line_show();
}
