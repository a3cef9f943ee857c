#ifndef ASSAY_GROUP_H
#define ASSAY_GROUP_H

#include <stdbool.h>

/*
 * Kills all processes in a control group. The group stays, and can be used again. The script `assay` makes and removes it
 * (setup/groups.sh).
 *
 * A process of the service's user can leave its session and its parent, but not its control group. Without a group, a compromised
 * service could start a process that outlives it and keeps its port, its database and its TLS key open.
 *
 * Returns false if some of the processes have not ended within 10 s.
 */
bool group_kill(const char *directory);

#endif
