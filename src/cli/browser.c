/* browser.c - see browser.h. */
#include "cli/browser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/file.h"

#define PAGE_LIMIT_BYTES 4096u

const char *browser_address(struct arena *a, const char *server, const char *path)
{
    static const char *const here[] = {"https://127.", "https://localhost:", "https://[::1]:"};

    for (size_t i = 0; i < ELEMS(here); i++)
        if (strncmp(server, here[i], strlen(here[i])) == 0)
            return arena_printf(a, "http://%s%s", server + strlen("https://"), path);
    return arena_printf(a, "%s%s", server, path);
}

/* By a grandchild, because some browsers stay until they are closed. */
void browser_open(const char *address)
{
    const char *browser = getenv("BROWSER");
    pid_t child = fork();

    if (child == 0) {
        if (setsid() < 0 || fork() != 0)
            _exit(0);
        if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout) ||
            !freopen("/dev/null", "w", stderr))
            _exit(127);
        browser = browser && *browser ? browser : "xdg-open";
        execlp(browser, browser, address, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The address contains only our own text and a code: nothing needs escaping. */
void browser_open_secret(const struct home *h, const char *address)
{
    struct buf page = BUF_INIT(PAGE_LIMIT_BYTES), path = BUF_INIT(PAGE_LIMIT_BYTES);

    buf_addf(&page,
             "<!doctype html><html lang=en><meta charset=utf-8><title>muster</title>"
             "<meta name=referrer content=no-referrer>"
             "<meta http-equiv=refresh content=\"0;url=%s\"><a href=\"%s\">muster</a></html>\n",
             address, address);
    buf_addf(&path, "%s/open.html", h->dir);
    if (!page.failed && !path.failed &&
        file_write_atomic(path.data, page.data, page.len, 0600) == 0)
        browser_open(path.data);
    buf_release(&page);
    buf_release(&path);
}
