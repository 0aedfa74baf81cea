/* version.h - the program's own version. The API reports a Kubernetes version instead. */
#ifndef MUSTER_BASE_VERSION_H
#define MUSTER_BASE_VERSION_H

#define MUSTER_VERSION "0.1.0"

#endif
