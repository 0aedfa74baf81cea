/* browser.h - opening a server's page in a browser. */
#ifndef MUSTER_CLI_BROWSER_H
#define MUSTER_CLI_BROWSER_H

#include "cli/home.h"

/* Where a browser finds it, in the arena: the server of this machine ("https://127.0.0.1:7447")
 * over plain HTTP, which asks nobody to trust a certificate. NULL when out of memory. */
const char *browser_address(struct arena *a, const char *server, const char *path);
/* Opens it in $BROWSER, else in what the desktop has. A favour: what goes wrong with it is not
 * said, the address is there to be clicked. */
void browser_open(const char *address);
/* The same for an address that signs in: any user of the machine can read command lines,
 * so the browser is given a file of the data folder that leads there. */
void browser_open_secret(const struct home *h, const char *address);

#endif
