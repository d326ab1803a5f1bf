# Each target is a command of tools/do.py, which runs without make too. `make` alone lists them.
.DEFAULT_GOAL := help
PY ?= python3

export SOLUTIONS

DO = @$(PY) -c "" 2>/dev/null || { echo "No $(PY) that runs here. Install Python 3.11 to 3.14 (Debian, Ubuntu: apt install python3 python3-venv)."; exit 1; }; $(PY) tools/do.py $@

.PHONY: help book test notebooks serve lab bench lint tool links release lock clean

help lint links clean:
	$(DO)

book: # SOLUTIONS=no
	$(DO)

test: # NB=04
	$(DO) $(if $(NB),--page $(NB)) $(ARGS)

lab bench tool release:
	$(DO) $(ARGS)

notebooks: # NB=04
	$(DO) $(NB) $(ARGS)

serve: # PORT=8000
	$(DO) $(if $(PORT),--port $(PORT)) $(ARGS)

lock: # UPGRADE=--upgrade
	$(DO) $(UPGRADE)
