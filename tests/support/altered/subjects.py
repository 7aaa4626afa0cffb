"""Files of each kind that commands read, small and whole, and what an altered one means."""

from support.altered.configs import CONFIGS
from support.altered.data_folders import INDICES, INSPECTED, LISTED
from support.altered.experiments import EXPERIMENTS
from support.altered.score_files import SCORES
from support.altered.translations import OUTPUTS
from support.altered.validations import VALIDATIONS

SUBJECTS = (SCORES, VALIDATIONS, CONFIGS, EXPERIMENTS, OUTPUTS, LISTED, INDICES, INSPECTED)
