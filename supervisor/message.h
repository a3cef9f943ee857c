#ifndef ASSAY_MESSAGE_H
#define ASSAY_MESSAGE_H

/* Prints a line for the operator to standard error, like `say` of setup/log.sh. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
