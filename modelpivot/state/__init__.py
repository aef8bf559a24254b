"""What a host remembers: releases, runs, its lock and an open switch.

<state>/releases/<id>/release.json      the frozen release
                      recipe.json       what it was made of
                      view/             what the engine is started on
                      unit.json         its process (process supervisor)
                      probe.json        its record of log-probabilities
                      log               output of the engine since its last start
                      gate/             its engine waits there while the old one serves
                      plain.txt         why it is not started through the gate any more
<state>/releases.json                   current, previous, proved, stopped by name
<state>/cutover.json, decision.json     the open switch, and what is asked of it
<state>/lock.json, lock.guard           who may change this host
<state>/units.env                       what boot unit and switch are told of this host (systemd)
<state>/spare                           bytes for a reclaim on a full disk
<state>/reclaimed/<id>.json             what was reclaimed: repository, commit, digests
<state>/runs/<id>/                      events.jsonl overrides.json plan.json staged.json result.json cutover.json logs/
                                        of an upgrade test also upgrade.json, candidate.yaml
"""
