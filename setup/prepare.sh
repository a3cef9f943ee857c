# The set-up that commands share, in the order of dependencies.

prepare_software() {
  clock
  prepare_start=$now
  interruptible
  known_processor
  for_this_machine
  open_data_dir
  if software_is_prebuilt; then
    use_software
    choose_languages
    give_to_service
    return
  fi
  install_packages
  make_user
  give_to_service
  install_modules
  install_app
  choose_languages
}

# prepare_service: prepares a service, which has the dashboard, unlike a worker or another command.
prepare_service() {
  if [ "$own_worker" = yes ]; then prepare_sandbox; else prepare_software && keep_languages; fi
  software_is_prebuilt || build_dashboard
}

prepare_sandbox() {
  prepare_software
  build_sandbox
}

build_sandbox() {
  software_is_prebuilt || build_launcher
  build_image
  # Releases and tests have only the eight languages. For the tests of packs, command-test.sh adds the packs that they name.
  case $command in release | test) ;; *) add_packs "$ASSAY_LANGUAGES" ;; esac
  keep_languages
}

# prepared KIND: ends set-up and makes this command a running instance.
prepared() {
  keep_recent_versions
  trap leave EXIT
  open_instance "$1"
  unlock_set_up
}
