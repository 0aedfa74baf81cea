/* browser.h - opening a server's page in a browser. */
#ifndef MUSTER_CLI_BROWSER_H
#define MUSTER_CLI_BROWSER_H

#include "cli/home.h"

/* The server's address for a browser, in the arena: this machine's server
 * ("https://127.0.0.1:7447") over plain HTTP, which requires no certificate to be trusted. NULL
 * when out of memory. */
const char *browser_address(struct arena *a, const char *server, const char *path);
/* Opens it in $BROWSER or the desktop's default. Best effort: errors are not reported, as the
 * address is also printed. */
void browser_open(const char *address);
/* The same for an address that signs in: any user of the machine can read command lines, so the
 * browser gets a file in the data folder that redirects there. */
void browser_open_secret(const struct home *h, const char *address);

#endif
