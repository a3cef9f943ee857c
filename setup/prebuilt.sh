# Software outside of the data directory. In a container, the container image has the software, which `assay set-up software` made
# (deploy/container/Containerfile), and the data directory has only the data of the service. A start then fetches, builds and copies
# nothing.

software=${checkout%/app/*}

software_is_prebuilt() { [ -f "$software/software-alone" ] && [ "$software" != "$data" ]; }

# use_software: sets the variables that set-up would otherwise set.
use_software() {
  app=$(readlink -f -- "$software/current/app")
  supervisor=$app/bin/assay-supervisor
  node=$(readlink -f -- "$software/current/node")
  modules=${node%/node_modules/*}
  launcher=$(readlink -f -- "$software/current/launcher")/assay-launcher
  image=$(readlink -f -- "$software/current/image")
  dashboard=$(readlink -f -- "$software/current/dashboard")
}

# about_machine COMMAND: whether COMMAND needs a machine or a checkout, and so makes no sense in a container.
about_machine() {
  case $1 in install | release | set-up | test | uninstall) ;; *) return 1 ;; esac
}
