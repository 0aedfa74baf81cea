#include "cli/man_page.h"

#include <stdio.h>

#include "base/version.h"

/* Escapes text for roff. */
static void add_text(struct buf *out, const char *text)
{
    bool line_begins = true;

    for (; *text; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            buf_adds(out, "\\&");
        if (*text == '\\')
            buf_adds(out, "\\e");
        else if (*text == '-')
            buf_adds(out, "\\-");
        else
            buf_addc(out, *text);
        line_begins = *text == '\n';
    }
}

static void add_header(struct buf *out, const char *name, const char *summary)
{
    buf_addf(out, ".TH \"%s\" 1 \"\" \"muster " MUSTER_VERSION "\" \"muster\"\n.SH NAME\n", name);
    add_text(out, name);
    buf_adds(out, " \\- ");
    add_text(out, summary);
    buf_addc(out, '\n');
}

static void add_option(struct buf *out, const struct option_spec *s)
{
    buf_adds(out, ".TP\n\\fB");
    if (s->letter)
        buf_addf(out, "\\-%c\\fR, \\fB", s->letter);
    buf_adds(out, "\\-\\-");
    add_text(out, s->name);
    buf_adds(out, "\\fR");
    if (s->value_name) {
        buf_adds(out, " \\fI");
        add_text(out, s->value_name);
        buf_adds(out, "\\fR");
    }
    buf_addc(out, '\n');
    add_text(out, s->doc);
    buf_addc(out, '\n');
}

static void write_command(const struct command *c, struct buf *out)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "muster-%s", c->name);
    add_header(out, name, c->summary);
    buf_addf(out, ".SH SYNOPSIS\n.B muster %s\n", c->name);
    add_text(out, c->args);
    buf_adds(out, c->options ? " [OPTIONS]\n" : "\n");
    if (c->examples) {
        buf_adds(out, ".SH DESCRIPTION\n.nf\n");
        add_text(out, c->examples);
        if (c->help)
            buf_addc(out, '\n');
        add_text(out, c->help ? c->help : "");
        buf_adds(out, ".fi\n");
    }
    if (c->options)
        buf_adds(out, ".SH OPTIONS\n");
    for (const struct option_spec *s = c->options; s && s->name; s++)
        add_option(out, s);
    buf_adds(out, ".SH SEE ALSO\n.BR muster (1)\n");
}

void man_page_write(const struct command *c, struct buf *out)
{
    if (c) {
        write_command(c, out);
        return;
    }
    add_header(out, "muster", "run distributed training jobs on one machine or a cluster");
    buf_adds(out, ".SH SYNOPSIS\n.B muster\nCOMMAND [OPTIONS]\n.SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->hidden)
            continue;
        buf_adds(out, ".TP\n.BR muster\\-");
        add_text(out, commands[i]->name);
        buf_adds(out, " (1)\n");
        add_text(out, commands[i]->summary);
        buf_addc(out, '\n');
    }
    buf_adds(out, ".SH EXIT STATUS\n.nf\n");
    command_print_exit_codes(out);
    buf_adds(out, ".fi\n.SH ENVIRONMENT\n"
                  ".TP\n.B MUSTER_HOME\nThe data folder; ~/.muster without it.\n"
                  ".TP\n.B KUBECONFIG\nThe file that \\-\\-context looks in.\n"
                  ".TP\n.BR NO_COLOR \", \" CLICOLOR_FORCE\nNo colours; colours also in pipes.\n"
                  ".TP\n.BR LC_ALL \", \" LC_MESSAGES \", \" LANG\nzh_* for Chinese messages.\n");
}
