# Software that was set up elsewhere: in a container its image has it, where `assay set-up software` put it
# (deploy/container/Containerfile), and the data directory has only what is the service's own. A start fetches, builds and copies
# nothing.

software=${checkout%/app/*}

software_is_elsewhere() { [ -f "$software/software-alone" ] && [ "$software" != "$data" ]; }

# use_software: what set-up would else make here.
use_software() {
  app=$(readlink -f -- "$software/current/app")
  node=$(readlink -f -- "$software/current/node")
  modules=${node%/node_modules/*}
  launcher=$(readlink -f -- "$software/current/launcher")/assay-launcher
  image=$(readlink -f -- "$software/current/image")
  dashboard=$(readlink -f -- "$software/current/dashboard")
}

# about_machine COMMAND: those that are about a machine, or a checkout.
about_machine() {
  case $1 in install | release | set-up | test | uninstall) ;; *) return 1 ;; esac
}
