# Software outside of the data directory. In a container, the container image has the software (deploy/container/pack), and the data
# directory has only the data of the service, and the files of language packs if any are chosen. A start without packs then fetches, builds
# and copies nothing.

software=${checkout%/app/*}

software_is_prebuilt() { [ -f "$software/software-alone" ]; }

# use_software: sets the variables that set-up would otherwise set.
use_software() {
  app=$(readlink -f -- "$software/current/app")
  supervisor=$app/bin/assay-supervisor
  node=$(readlink -f -- "$software/current/node")
  modules=${node%/node_modules/*}
  launcher=$(readlink -f -- "$software/current/launcher")/assay-launcher
  image_of_software=$(readlink -f -- "$software/current/image")
  image=$image_of_software
  dashboard=$(readlink -f -- "$software/current/dashboard")
}

# about_machine COMMAND: whether COMMAND needs a machine or a checkout, and so makes no sense in a container.
about_machine() {
  case $1 in install | configure | release | set-up | test | uninstall) ;; *) return 1 ;; esac
}
