/* version.h - the program's own version. What the API reports is the server's (a Kubernetes
 * version). */
#ifndef MUSTER_BASE_VERSION_H
#define MUSTER_BASE_VERSION_H

#define MUSTER_VERSION "0.1.0"

#endif
